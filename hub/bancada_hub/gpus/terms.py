"""The scheduler's rules, from what is kept of labs and projects."""

from datetime import UTC, tzinfo
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

from sqlalchemy.orm import Session

from bancada_hub.gpus.scheduling.rules import Hours, LabRule, ProjectRule, Rules, Timed
from bancada_hub.store import gpu_rules, labs, projects
from bancada_hub.store.gpu_rules import LabShare, NewRule, ProjectShare

LOCAL_TIME = Path("/etc/localtime")


@cache
def machine_zone() -> tzinfo:
    """Return the machine's time zone, in which the hours of rules are meant; UTC where it has none."""
    if not LOCAL_TIME.exists():
        return UTC
    with LOCAL_TIME.open("rb") as file:
        return ZoneInfo.from_file(file)


def read_rules(session: Session) -> Rules:
    """Return the rules as they are now."""
    return Rules(
        projects={each.id: project_rule(each, each.share) for each in projects.all_projects(session)},
        labs={each.id: lab_rule(each, each.share) for each in labs.labs(session)},
        timed=tuple(timed(each.new) for each in gpu_rules.rules(session)),
        zone=machine_zone(),
    )


def lab_rule(lab: labs.Lab, share: LabShare) -> LabRule:
    """Return the rule of a lab with such a share."""
    return LabRule(lab.id, share.max_gpus, share.gpu_weight)


def project_rule(project: projects.Project, share: ProjectShare) -> ProjectRule:
    """Return the rule of a project with such a share."""
    return ProjectRule(
        project.id,
        project.lab_id,
        weight=share.gpu_weight,
        limit=share.max_gpus,
        person_limit=share.max_person_gpus,
        guarantee=share.gpu_guarantee,
        within_s=share.gpu_within_s,
        memory_bytes=share.gpu_memory_bytes,
    )


def timed(rule: NewRule) -> Timed:
    """Return what holds for a time, as the scheduler knows it."""
    of_lab = rule.lab_id is not None
    return Timed(
        project_id=rule.project_id,
        lab_id=rule.lab_id,
        from_s=rule.from_s,
        until_s=rule.until_s,
        hours=_hours(rule),
        guarantee=rule.guarantee,
        limit=None if of_lab else rule.max_gpus,
        person_limit=rule.max_person_gpus,
        weight=rule.weight,
        ceiling=rule.max_gpus if of_lab else None,
    )


def _hours(rule: NewRule) -> Hours | None:
    if rule.days is None and rule.from_minute is None:
        return None
    days = frozenset(range(7)) if rule.days is None else frozenset(map(int, rule.days))
    if rule.from_minute is None or rule.minutes is None:
        return Hours(days)
    return Hours(days, rule.from_minute, rule.minutes)
