"""The machine's NVIDIA cards: which there are and how well, who holds them, who waits."""
