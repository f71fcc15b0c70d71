"""The scheduler's rules, from what is kept of labs and projects."""

from sqlalchemy.orm import Session

from bancada_hub.gpus.scheduling.rules import LabRule, ProjectRule, Rules
from bancada_hub.store import labs, projects


def read_rules(session: Session) -> Rules:
    """Return the rules as they are now."""
    return Rules(
        projects={each.id: ProjectRule(each.id, each.lab_id) for each in projects.all_projects(session)},
        labs={each.id: LabRule(each.id) for each in labs.labs(session)},
    )
