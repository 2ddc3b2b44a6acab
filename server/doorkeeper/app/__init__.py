"""The composition root: one process with its state log, authorizer, node, listeners and signals.

process          life of the process: logs, event loop, garbage collector, exit status
assembly         construction of a server from settings, and its orderly shutdown
authorizer       construction, start and bounded close of the authorizer
listeners        limits, mechanisms, TLS and principal builders of the listeners
node             the node as handlers see it
services         what connections may change
config_changes   dynamic configuration, also of other nodes
reconfiguration  use of a new configuration in a running server
reload           reload on SIGHUP
stores           opening of the configured store
errors           reasons for a refused start
"""
