"""Bancada's database: the one place of truth that hub, console and command line share."""
