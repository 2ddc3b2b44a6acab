"""The composition root: one process with its state log, authorizer, node, listeners and signals.

process         the life of the process: logs, loop, garbage collector, exit
assembly        from settings to a running server, and its end
closing         the end of an authorizer, in bounded time
live_node       the node as handlers see it
services        what connections have changed
config_changes  changing keys over the wire, and using what other nodes changed
reconfiguring   using a new configuration
reloading       what SIGHUP changes
offline         the ACLs of a server that is stopped
offline_trail   the state log and the audit log of commands for such a server
command_logs    what commands that do not serve log
errors          why a server does not start
"""
