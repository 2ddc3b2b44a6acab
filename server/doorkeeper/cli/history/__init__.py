"""``doorkeeper history``: the changes of a store."""
