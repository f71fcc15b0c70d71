"""The catalogue: from an image's folder to a revision that servers start from."""
