"""Reading what a plan depends on: settings, and one transaction of the database."""

import time
from datetime import UTC, datetime

from bancada_hub.errors import told
from bancada_hub.launch.context import LaunchContext
from bancada_hub.launch.plan import Facts, What, Where, Who
from bancada_hub.launch.room import sizes_here
from bancada_hub.store import catalog, leases, people, projects, servers, steps

IMAGE = "minimal"
"""The image of every project, until projects pin their own."""


def read_facts(context: LaunchContext, user_name: str, server_name: str) -> Facts:
    """Read all that the plan of one server depends on, as it stands at one instant.

    Args:
        context: The site.
        user_name: Whose server.
        server_name: Its name: a project's slug.
    """
    with context.store.read() as session:
        person = people.find_person(session, user_name)
        project = projects.find_project(session, server_name) if server_name else None
        member = person is not None and project is not None and projects.is_member(session, project.id, person.id)
        last_size = servers.last_size(session, project.id, person.id) if person and project else ""
        granted = leases.grant_for(session, (project.id, person.id), time.time()) if person and project else None
        revision = catalog.published_revision(session, IMAGE)
        taken = steps.steps(session)
    return Facts(
        site_id=context.site_id,
        places=context.places,
        sources=context.sources,
        sizes=sizes_here(context.site),
        network=context.network,
        server_api=context.server_api,
        server_name=server_name,
        who=_who(person) if person else None,
        where=_where(project, member=member) if project else None,
        what=_what(revision) if revision else None,
        preparation=preparation(taken, datetime.now(UTC)),
        last_size=last_size,
        cards=granted.cards if granted else (),
        simulated_cards=context.simulated_cards,
    )


def preparation(taken: list[steps.Step], now: datetime) -> str:
    """Say how far the site's preparation is; empty when there is none, or it is done."""
    for step in taken:
        if step.state == steps.FAILED:
            return told(
                "The image could not be prepared: “%(step)s” failed. Ask an administrator.", step=told(step.title)
            )
        if step.stalled(now):
            return told(
                "The preparation of the image has stopped at “%(step)s”. Ask an administrator.", step=told(step.title)
            )
    ahead = [step for step in taken if step.state != steps.DONE]
    if not ahead:
        return ""
    current = ahead[0]
    spent_s = (now - current.started_at).total_seconds() if current.started_at else 0.0
    left_s = max(current.expected_s - spent_s, 0.0) + sum(step.expected_s for step in ahead[1:])
    return told(
        "The image is still being prepared: step %(position)d of %(steps)d, %(title)s, about %(left)d s left.",
        position=current.position,
        steps=len(taken),
        title=told(current.title),
        left=max(round(left_s, -1), 10),
    )


def _where(project: projects.Project, *, member: bool) -> Where:
    archived = project.archived_at is not None
    return Where(project.id, project.slug, project.gid, member, archived, project.egress)


def _who(person: people.Person) -> Who:
    return Who(person.name, person.uid, person.disabled, person.must_change_password, person.language)


def _what(revision: catalog.Revision) -> What:
    built = revision.built
    return What(built.digest, built.tag, built.lower, built.server_environment)
