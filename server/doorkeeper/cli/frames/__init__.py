"""The command ``doorkeeper frames``."""
