"""The commands ``doorkeeper store``."""
