"""Dividing the cards: what a lab's projects may have together, what each of them may, always or for a time.

Administrators set a lab's ceiling, the lab's leads divide it. Each change can be tried first: what it would do to those
who wait is played through, and nothing is kept.
"""

import time
from dataclasses import asdict, dataclass, replace

from sqlalchemy.orm import Session

from bancada_hub.errors import NotFound, PeopleError, Told, told
from bancada_hub.gpus import broker
from bancada_hub.gpus.inventory import Inventory
from bancada_hub.gpus.lab import read_history, read_lab
from bancada_hub.gpus.scheduling.preview import Preview, new_problems, preview
from bancada_hub.gpus.scheduling.rules import Rules
from bancada_hub.gpus.shares import check_rule, check_share
from bancada_hub.gpus.terms import lab_rule, project_rule, timed
from bancada_hub.roles import Action, Actor
from bancada_hub.store import gpu_rules, labs, projects, trace
from bancada_hub.store.database import Store
from bancada_hub.store.finding import lab_for, project_for, stale_lab, stale_project
from bancada_hub.store.gpu_rules import LabShare, NewRule, ProjectShare, StoredRule


@dataclass(frozen=True)
class Wanted:
    """A change of what one lab or project may have, as it was asked for.

    Args:
        slug: The lab or project.
        version: The version that the actor has read.
        share: All of what it may have from then on.
    """

    slug: str
    version: int
    share: LabShare | ProjectShare


def divide(store: Store, actor: Actor, wanted: Wanted, inventory: Inventory) -> None:
    """Change what a lab or a project may have; it holds from the next decision on, and ends nobody's work.

    Args:
        store: The database.
        actor: Who asks.
        wanted: What.
        inventory: The cards.

    Raises:
        NotFound: There is no such lab or project, or the actor may not know of it.
        Forbidden: A ceiling is set by administrators, a project's share by the lab's leads; the actor is neither.
        StaleVersion: Somebody changed it after that version.
        PeopleError: It does not fit: a guarantee above the limit, guarantees above the ceiling or the cards there are.
    """
    of_lab = isinstance(wanted.share, LabShare)
    kind = "lab" if of_lab else "project"
    with trace.change(store, actor, f"{kind}.gpus", f"{kind}:{wanted.slug}") as made:
        check_share(wanted.share)
        found, before, after = _as_wanted(made.session, actor, wanted, inventory)
        _refuse_new_problems(made.session, before, after)
        made.detail |= {**asdict(wanted.share), "version": wanted.version + 1}
        detail = {**asdict(wanted.share), "before": asdict(found.share)}
        ledger = ({"lab": wanted.slug} if of_lab else {}) | detail
        entry = trace.NewLedgerEntry("gpus.divided", None if of_lab else found.id, actor.person_id, ledger)
        trace.ledger(made.session, entry)
        if isinstance(wanted.share, LabShare):
            gpu_rules.set_lab_share(made.session, found.id, wanted.share)
        else:
            gpu_rules.set_project_share(made.session, found.id, wanted.share)


def try_division(store: Store, actor: Actor, wanted: Wanted, inventory: Inventory) -> Preview:
    """Return what a change would do, were it made now; raises what `divide` does, but tells problems."""
    check_share(wanted.share)
    with store.read() as session:
        _, before, after = _as_wanted(session, actor, wanted, inventory)
        return _played(session, before, after)


def set_rule(store: Store, actor: Actor, slug: str, new: NewRule, inventory: Inventory) -> StoredRule:
    """Let something hold for a time, for a lab or project.

    Args:
        store: The database.
        actor: Who asks.
        slug: The lab or project, whichever `new` has a number for; the number itself is found here.
        new: What; its `project_id` or `lab_id` is set, to anything.
        inventory: The cards.

    Raises:
        NotFound, Forbidden, PeopleError: As for `divide`.
    """
    kind = "lab" if new.lab_id is not None else "project"
    with trace.change(store, actor, f"{kind}.rule-add", f"{kind}:{slug}") as made:
        check_rule(new)
        placed, before, after = _with_rule(made.session, actor, slug, new, inventory)
        _refuse_new_problems(made.session, before, after)
        number = gpu_rules.add_rule(made.session, placed)
        said = {name: value for name, value in asdict(placed).items() if value not in (None, "")}
        made.detail |= {"rule": number, **said}
        trace.ledger(
            made.session, trace.NewLedgerEntry("gpus.rule-added", placed.project_id, actor.person_id, made.detail)
        )
        return StoredRule(number, placed)


def try_rule(store: Store, actor: Actor, slug: str, new: NewRule, inventory: Inventory) -> Preview:
    """Return what a rule would do, were it set and did it hold now."""
    check_rule(new)
    with store.read() as session:
        always = replace(new, from_s=None, until_s=None, days=None, from_minute=None, minutes=None)
        _, before, after = _with_rule(session, actor, slug, always, inventory)
        return _played(session, before, after)


def drop_rule(store: Store, actor: Actor, rule_id: int) -> StoredRule:
    """Take a rule away, and return it.

    Raises:
        NotFound: There is none of this number, or the actor may not know of it.
        Forbidden: They may not divide that lab.
    """
    with trace.change(store, actor, "gpu.rule-remove", f"rule:{rule_id}") as made:
        found = gpu_rules.find_rule(made.session, rule_id)
        if found is None:
            raise _no_rule(rule_id)
        try:
            _may_set(made.session, actor, found.new)
        except NotFound:
            raise _no_rule(rule_id) from None
        made.detail |= {name: value for name, value in asdict(found.new).items() if value not in (None, "")}
        entry = trace.NewLedgerEntry("gpus.rule-removed", found.new.project_id, actor.person_id, dict(made.detail))
        trace.ledger(made.session, entry)
        gpu_rules.drop_rule(made.session, rule_id)
        return found


def _as_wanted(
    session: Session, actor: Actor, wanted: Wanted, inventory: Inventory
) -> tuple[labs.Lab | projects.Project, broker.Lab, Rules]:
    """Return the lab or project, what is decided about now, and the rules as they would be."""
    before = read_lab(session, inventory)
    rules = before.rules
    if isinstance(wanted.share, LabShare):
        lab = lab_for(session, actor, wanted.slug, Action.SET_LAB_LIMITS)
        if lab.version != wanted.version:
            raise stale_lab(session, lab)
        return lab, before, replace(rules, labs={**rules.labs, lab.id: lab_rule(lab, wanted.share)})
    project = project_for(session, actor, wanted.slug, Action.DIVIDE_GPUS)
    if project.version != wanted.version:
        raise stale_project(session, project)
    return project, before, replace(rules, projects={**rules.projects, project.id: project_rule(project, wanted.share)})


def _with_rule(
    session: Session, actor: Actor, slug: str, new: NewRule, inventory: Inventory
) -> tuple[NewRule, broker.Lab, Rules]:
    if new.lab_id is not None:
        placed = replace(new, lab_id=lab_for(session, actor, slug, Action.SET_LAB_LIMITS).id, project_id=None)
    else:
        placed = replace(new, project_id=project_for(session, actor, slug, Action.DIVIDE_GPUS).id, lab_id=None)
    before = read_lab(session, inventory)
    return placed, before, replace(before.rules, timed=(*before.rules.timed, timed(placed)))


def _may_set(session: Session, actor: Actor, rule: NewRule) -> None:
    if rule.lab_id is not None:
        lab_for(session, actor, labs.get_lab(session, rule.lab_id).slug, Action.SET_LAB_LIMITS)
    elif rule.project_id is not None:
        project_for(session, actor, projects.get_project(session, rule.project_id).slug, Action.DIVIDE_GPUS)


def _played(session: Session, before: broker.Lab, after: Rules) -> Preview:
    found = preview(broker.load(session, before), after, read_history(session), time.time())
    return replace(found, problems=tuple(_named(session, problem) for problem in found.problems))


def _refuse_new_problems(session: Session, before: broker.Lab, after: Rules) -> None:
    for problem in new_problems(before.rules, after, before.cards, time.time()):
        fix = told("Nothing was changed. Choose less, or raise the limit above it first.")
        raise PeopleError(_named(session, problem), fix=fix)


def _named(session: Session, problem: Told) -> Told:
    """Return a problem with short names in place of numbers."""
    values = dict(problem.values)
    if isinstance(values.get("project"), int):
        values["project"] = projects.get_project(session, values["project"]).slug  # type: ignore[arg-type]
    if isinstance(values.get("lab"), int):
        values["lab"] = labs.get_lab(session, values["lab"]).slug  # type: ignore[arg-type]
    return told(problem.template, **values)


def _no_rule(rule_id: int) -> NotFound:
    return NotFound(
        told("There is no rule %(n)s.", n=rule_id), fix=told("See which there are: ./bancada project rules")
    )
