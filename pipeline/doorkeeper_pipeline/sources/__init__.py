"""The inputs: logs of decisions, and sets of ACLs."""
