"""The store that nodes share: one PostgreSQL database."""
