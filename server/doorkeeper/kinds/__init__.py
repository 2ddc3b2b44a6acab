"""The kinds of state that a store keeps: their rows, how these are encoded, and changes of them.

kind      what a kind is: its columns, its secrets, the codec of its rows
declared  every kind, generated from ``schemas/state/``
acls      the codec of ACLs
change    a change, who asked for it, and what subscribers are given
table     rows by key, sharing structure with the table that they were made from
"""
