"""The kinds of state that a store keeps: rows, their encoding, and changes.

kind      columns, secrets and the codec of a kind, and a table of its rows
declared  every kind, generated from ``schemas/state/``
acls      the codec of ACLs
features  the release whose rules the cluster follows
change    a change and its origin
"""
