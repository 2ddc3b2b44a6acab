"""The audit log: decisions, changes and logins as lines in files.

A folder or file that cannot be read or written raises ``OSError``.
"""
