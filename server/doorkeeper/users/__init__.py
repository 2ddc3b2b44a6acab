"""SCRAM users: the table of their credentials, and what alters it."""
