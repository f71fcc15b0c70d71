"""Bancada's control plane: hub, console, command line, and what they decide with."""
