"""Graphics cards: which there are, who holds them, who waits."""
