"""Roles, where code of projects looks for them; they live below the store, which says what somebody's standing is."""

from bancada_hub.roles import SITE, Action, Role, Standing, Subject, may

__all__ = ["SITE", "Action", "Role", "Standing", "Subject", "may"]
