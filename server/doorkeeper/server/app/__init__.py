"""The composition root: one process with its state log, authorizer, node, listeners and signals.

process          life of the process: logs, event loop, garbage collector, exit status
assembly         construction of a server from its parts, and its orderly shutdown
node             the node as handlers see it
services         what connections may change
operations_port  start and stop of the HTTP pages, and the gauges of a scrape
data_path        the records of a test broker
config_changes   dynamic configuration, also of other nodes
reconfiguration  use of a new configuration in a running server
reload           reload on SIGHUP
config_check     check of a configuration without a start
"""
