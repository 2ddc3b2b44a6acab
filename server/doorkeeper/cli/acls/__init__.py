"""The commands ``doorkeeper acls``."""
