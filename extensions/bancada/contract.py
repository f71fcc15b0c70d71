"""The shapes and names that cross between hub and server."""

START_FAILED = "bancada-start-failed"
"""First word of the one line that a server prints when it cannot start: `bancada-start-failed: <reason>: <why>`."""

START_FAILED_EXIT = 78
"""Exit status that goes with it (EX_CONFIG of sysexits.h)."""
