"""The past of a store: its revisions, and the state as of each of them.

moments       a point in the history, as a revision or a time
reading       the state as of a moment
revisions     the changes of a store, filtered and in pages
undoing       changes of ACLs that are taken back, and those that a plan depends on
watching      every revision behind one, as it becomes durable
verification  whether the log of changes is the one that was written
"""
