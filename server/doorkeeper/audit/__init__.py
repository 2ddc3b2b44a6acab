"""The audit trail: what was decided, changed and tried, as lines in files that are kept."""
