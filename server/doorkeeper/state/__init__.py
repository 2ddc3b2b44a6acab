"""The state that a node serves, and the log through which it changes.

state    the immutable state, and how a change makes the next one
store    what a durable store offers to the log
log      the log: plans, commits, publishes, and follows other nodes
loading  a state made of the rows of a store
memory   a store that keeps nothing
age      how old the state may be where the store is away
outcome  what clients are told of a change
"""
