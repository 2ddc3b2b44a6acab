"""The state that a node serves, and the log that changes it.

A store that cannot be opened, read or written raises ``StorageError``: the text names the store and
the reason, and the subclass the reaction; see ``store``.

state        the immutable state, and how a change makes the next one
store        the interface of durable stores
log          plans, commits and publishes changes, follows other nodes; denies access while too old
submissions  changes that are not complete: queued, in flight, in doubt
loading      builds a state from the rows of a store
memory       a store without a database
outcome      results and errors of changes for clients
storage      the embedded store (SQLite), and what both stores share; backups, copies, checks
postgres     the shared store
history      the past of a store: its revisions, and the state as of each of them
"""
