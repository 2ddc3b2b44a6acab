"""The commands ``doorkeeper users`` and ``doorkeeper users-file``."""
