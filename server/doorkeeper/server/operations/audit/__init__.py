"""The audit log: decisions, changes and logins as lines in files."""
