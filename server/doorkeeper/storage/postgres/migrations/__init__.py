"""The schema's versions, as alembic runs them: see ``migrating``."""
