"""Alembic migrations; `bancada up` alone runs them."""
