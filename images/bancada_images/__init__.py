"""Curated images: their specs, their locks, and how they are built."""
