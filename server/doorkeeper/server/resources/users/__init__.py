"""SCRAM users: the table of their credentials, and its alteration."""
