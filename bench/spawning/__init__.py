"""The parts of bench/spawn.py: a site of its own, a stock hub, plain containers, and how pairs are shown."""
