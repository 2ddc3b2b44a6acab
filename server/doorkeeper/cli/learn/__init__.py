"""The command ``doorkeeper learn``."""
