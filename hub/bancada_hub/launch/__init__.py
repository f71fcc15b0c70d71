"""Starting servers: a plan computed from facts, and spawners that only apply it."""
