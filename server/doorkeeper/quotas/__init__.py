"""Client quotas: the table of all quotas, and what alters it."""
