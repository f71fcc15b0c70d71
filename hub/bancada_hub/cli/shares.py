"""`bancada lab limits`, `bancada project limits|rules|rule-add|rule-remove`: dividing the GPUs, for good or a time."""

import argparse
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from bancada_hub.cli.gpu import machine_cards
from bancada_hub.cli.limits import KEPT, NONE, chosen
from bancada_hub.cli.table import add_verb, rows, say
from bancada_hub.cli.where import opened
from bancada_hub.errors import PeopleError
from bancada_hub.gpus.dividing import Wanted, divide, drop_rule, set_rule, try_division, try_rule
from bancada_hub.gpus.outlook import Outcome, in_sentences
from bancada_hub.gpus.scheduling.preview import Preview
from bancada_hub.gpus.shares import days_text, hours_text, read_days, read_hours, read_moment
from bancada_hub.gpus.terms import machine_zone
from bancada_hub.roles import Action, Actor
from bancada_hub.store import gpu_rules, labs, projects
from bancada_hub.store.database import Store
from bancada_hub.store.finding import lab_for, project_for
from bancada_hub.store.gpu_rules import LabShare, NewRule, ProjectShare

GIB, HOUR_S = 2**30, 3600.0
COUNT = "N|none"


def add_lab_verbs(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add to `bancada lab` what divides the GPUs among labs."""
    limits = add_verb(verbs, "limits", "show or set the most GPUs of a lab's projects together, and its weight", _lab)
    limits.add_argument("slug", help="the lab's short name")
    limits.add_argument("--gpus", type=count, default=KEPT, metavar=COUNT, help="the most GPUs at once")
    limits.add_argument("--gpu-weight", type=float, default=KEPT, metavar="W", help="against other labs (1)")
    _add_dry_run(limits)


def add_project_verbs(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add to `bancada project` what divides the GPUs among projects."""
    limits = add_verb(verbs, "limits", "show or set what a project may have of the GPUs", _project)
    limits.add_argument("slug", help="the project's short name")
    limits.add_argument("--gpus", type=count, default=KEPT, metavar=COUNT, help="the most at once")
    limits.add_argument("--gpus-each", type=count, default=KEPT, metavar=COUNT, help="the most at once for each person")
    limits.add_argument("--guarantee", type=int, default=KEPT, metavar="N", help="GPUs that it gets whenever it asks")
    limits.add_argument("--within-hours", type=float, default=KEPT, metavar="H", help="how soon it gets them (4)")
    limits.add_argument(
        "--guarantee-gib", type=float, default=KEPT, metavar="GIB", help="least memory of the guaranteed GPUs"
    )
    limits.add_argument("--gpu-weight", type=float, default=KEPT, metavar="W", help="against the lab's others (1)")
    _add_dry_run(limits)
    listing = add_verb(verbs, "rules", "what holds for a time, of all projects and labs, or of one project", _rules)
    listing.add_argument("slug", nargs="?", help="the project's short name")
    add = add_verb(verbs, "rule-add", "let a project have other GPUs for a time", _rule_add)
    add.add_argument("slug", help="the project's short name")
    for option, words in (
        ("--from", "since when: 2026-12-01 or 2026-12-01T08:00, in the machine's time zone"),
        ("--until", "until when"),
        ("--days", "on these days of the week alone: mon-fri"),
        ("--hours", "at these hours alone: 22:00-08:00"),
        ("--note", "what for"),
    ):
        add.add_argument(option, default="", metavar="TEXT", help=words)
    for option, words in (
        ("--guarantee", "GPUs that it gets whenever it asks"),
        ("--gpus", "the most at once"),
        ("--gpus-each", "the most at once for each person"),
    ):
        add.add_argument(option, type=int, metavar="N", help=words)
    add.add_argument("--gpu-weight", type=float, metavar="W", help="against the lab's other projects")
    _add_dry_run(add)
    remove = add_verb(verbs, "rule-remove", "end what holds for a time", _rule_remove)
    remove.add_argument("number", type=int, help="the rule's number, as `rules` shows it")


def count(text: str) -> int | None:
    """Read a number of cards.

    Raises:
        ValueError: It is neither a whole number nor `none`; argparse says so.
    """
    return None if text == NONE else int(text)


def share_words(share: LabShare | ProjectShare) -> str:
    """Return what a lab or project may have, for people."""
    most = "no limit" if share.max_gpus is None else f"{share.max_gpus}"
    words = [f"GPUs at once: {most}"]
    if isinstance(share, ProjectShare):
        each = "no limit" if share.max_person_gpus is None else f"{share.max_person_gpus}"
        words.append(f"each person: {each}")
        if share.gpu_guarantee:
            size = f" of {share.gpu_memory_bytes / GIB:g} GiB or more" if share.gpu_memory_bytes else ""
            words.append(f"guaranteed: {share.gpu_guarantee}{size} within {share.gpu_within_s / HOUR_S:g} h")
        else:
            words.append("guaranteed: none")
    return "; ".join([*words, f"weight {share.gpu_weight:g}"])


def _add_dry_run(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--dry-run", action="store_true", help="say who would gain and who would wait; change nothing")


def _lab(arguments: argparse.Namespace) -> int:
    store = opened(arguments)[1]
    with store.read() as session:
        lab = lab_for(session, Actor.command_line(), arguments.slug, Action.SET_LAB_LIMITS)
    share = LabShare(
        chosen(arguments.gpus, lab.max_gpus),
        chosen(arguments.gpu_weight, lab.gpu_weight),
    )
    return _divided(arguments, store, lab, share)


def _project(arguments: argparse.Namespace) -> int:
    store = opened(arguments)[1]
    with store.read() as session:
        project = project_for(session, Actor.command_line(), arguments.slug, Action.DIVIDE_GPUS)
    before = project.share
    share = replace(
        before,
        max_gpus=chosen(arguments.gpus, before.max_gpus),
        max_person_gpus=chosen(arguments.gpus_each, before.max_person_gpus),
        gpu_guarantee=chosen(arguments.guarantee, before.gpu_guarantee),
        gpu_within_s=_scaled(arguments.within_hours, HOUR_S, before.gpu_within_s),
        gpu_memory_bytes=int(_scaled(arguments.guarantee_gib, GIB, before.gpu_memory_bytes)),
        gpu_weight=chosen(arguments.gpu_weight, before.gpu_weight),
    )
    return _divided(arguments, store, project, share)


def _scaled(given: Any, unit: float, before: float) -> float:  # noqa: ANN401 - an option: a number, or KEPT
    return before if given is KEPT else float(given) * unit


def _divided(
    arguments: argparse.Namespace, store: Store, found: labs.Lab | projects.Project, share: LabShare | ProjectShare
) -> int:
    """Show what a lab or project may have, after it was changed if that was asked for."""
    model = {"slug": found.slug, **asdict(share)}
    wanted = Wanted(found.slug, found.version, share)
    if share == found.share:
        return say(arguments, model, share_words(share))
    cards = machine_cards(arguments)
    if arguments.dry_run:
        return _tried(arguments, store, lambda: try_division(store, Actor.command_line(), wanted, cards))
    divide(store, Actor.command_line(), wanted, cards)
    return say(arguments, model, f"{found.slug}: {share_words(share)}.\nIt holds from the next decision on.")


def _tried(arguments: argparse.Namespace, store: Store, preview: Callable[[], Preview]) -> int:
    found = preview()
    with store.read() as session:
        outcome = in_sentences(session, found)
    words = "\n".join([*_lines(outcome), "Nothing was changed."])
    say(arguments, {name: [str(each) for each in lines] for name, lines in asdict(outcome).items()}, words)
    return 1 if outcome.problems else 0


def _lines(outcome: Outcome) -> list[str]:
    heads = (("gains", outcome.gains), ("waits longer", outcome.waits), ("not possible", outcome.problems))
    return [f"{head}: {line}" for head, lines in heads for line in lines] + [str(each) for each in outcome.remarks]


def _rules(arguments: argparse.Namespace) -> int:
    store = opened(arguments)[1]
    with store.read() as session:
        found = gpu_rules.rules(session)
        if arguments.slug:
            project = project_for(session, Actor.command_line(), arguments.slug, Action.SEE_PROJECT)
            found = [each for each in found if each.new.project_id == project.id]
        models = []
        for each in found:
            new = each.new
            whose = {
                "project": projects.get_project(session, new.project_id).slug if new.project_id is not None else None,
                "lab": labs.get_lab(session, new.lab_id).slug if new.lab_id is not None else None,
            }
            models.append({"rule": each.id, **whose, **rule_model(new)})
    cells = [
        (
            model["rule"],
            model["project"] or f"lab {model['lab']}",
            model["from"] or "always",
            model["until"] or "always",
            " ".join(filter(None, (model["days"], model["hours"]))) or "at all hours",
            ", ".join(f"{name} {model[name]:g}" for name in CHANGES if model[name] is not None),
            model["note"],
        )
        for model in models
    ]
    head = ("rule", "of", "from", "until", "when", "then", "note")
    return say(arguments, models, rows(head, cells) if cells else "Nothing holds for a time only.")


CHANGES = ("guarantee", "gpus", "gpus_each", "weight")


def rule_model(rule: NewRule) -> dict[str, Any]:
    """Return a rule for programs; times in the machine's time zone."""
    return {
        "from": _moment(rule.from_s),
        "until": _moment(rule.until_s),
        "days": days_text(rule.days),
        "hours": hours_text(rule.from_minute, rule.minutes),
        "guarantee": rule.guarantee,
        "gpus": rule.max_gpus,
        "gpus_each": rule.max_person_gpus,
        "weight": rule.weight,
        "note": rule.note,
    }


def _moment(at_s: float | None) -> str | None:
    return None if at_s is None else datetime.fromtimestamp(at_s, machine_zone()).isoformat(timespec="minutes")


def _rule_add(arguments: argparse.Namespace) -> int:
    store, zone = opened(arguments)[1], machine_zone()
    hours = read_hours(arguments.hours) or (None, None)
    new = NewRule(
        project_id=0,
        from_s=read_moment(getattr(arguments, "from"), zone),
        until_s=read_moment(arguments.until, zone),
        days=read_days(arguments.days),
        from_minute=hours[0],
        minutes=hours[1],
        guarantee=arguments.guarantee,
        max_gpus=arguments.gpus,
        max_person_gpus=arguments.gpus_each,
        weight=arguments.gpu_weight,
        note=arguments.note,
    )
    actor, cards = Actor.command_line(), machine_cards(arguments)
    if arguments.dry_run:
        return _tried(arguments, store, lambda: try_rule(store, actor, arguments.slug, new, cards))
    made = set_rule(store, actor, arguments.slug, new, cards)
    words = f"Rule {made.id} is set for {arguments.slug}.\nEnd it: ./bancada project rule-remove {made.id}"
    return say(arguments, {"rule": made.id, "project": arguments.slug, **rule_model(made.new)}, words)


def _rule_remove(arguments: argparse.Namespace) -> int:
    if arguments.number < 0:
        msg = "The number of a rule is not negative."
        raise PeopleError(msg, fix="See which there are: ./bancada project rules")
    drop_rule(opened(arguments)[1], Actor.command_line(), arguments.number)
    return say(arguments, {"rule": arguments.number, "removed": True}, f"Rule {arguments.number} is no more.")
