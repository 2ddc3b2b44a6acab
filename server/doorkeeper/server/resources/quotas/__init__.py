"""Client quotas: the table of all quotas, and its alteration."""
