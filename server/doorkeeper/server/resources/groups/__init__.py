"""Committed offsets of groups: their table, and the plans that commit and delete them."""
