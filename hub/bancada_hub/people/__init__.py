"""People: their accounts and how they sign in."""
