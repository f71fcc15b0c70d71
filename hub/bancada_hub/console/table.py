"""All routes of the console, a topic after the other: what it answers, who may call it, what is written down."""

from bancada_hub.console.handlers import (
    accounts,
    audit,
    doctor,
    gpus,
    granted,
    labs,
    members,
    metrics,
    notices,
    openapi,
    preparation,
    profile,
    projects,
    queue,
    settings,
    shares,
    sign_in,
    site,
    tabs,
    work,
)

_TOPICS = (
    *(work, gpus, tabs, profile, notices, projects, queue),
    *(labs, members, granted, shares),
    *(site, accounts, settings, doctor, audit, metrics),
    *(sign_in, preparation, openapi),
)

ROUTES = tuple(route for topic in _TOPICS for route in topic.ROUTES)
