"""The machine's NVIDIA cards: what is there, how well, and later who holds them."""
