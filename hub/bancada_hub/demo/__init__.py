"""The demo: a throw-away site with people, projects, cards that are none, and a queue that moves."""
