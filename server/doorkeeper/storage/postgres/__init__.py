"""The shared store: a PostgreSQL database of several nodes."""
