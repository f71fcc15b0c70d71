"""What runs with a researcher: `import bancada` in a notebook, and the server that serves it."""

__version__ = "0.1.0"
