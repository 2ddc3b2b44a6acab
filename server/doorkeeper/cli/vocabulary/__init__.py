"""The table of options, and the classes of options, commands and groups that print it."""
