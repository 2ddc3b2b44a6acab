"""The assembly: one process with its store, authorizer, node, listeners and signals.

process          the life of the process: logs, loop, garbage collector, exit
assembly         from settings to a running server, and its end
closing          the end of an authorizer, in bounded time
live_node        the node as handlers see it
topic_changes    making, altering and deleting topics
config_changes   changing keys over the wire
credential_changes  changing SCRAM credentials over the wire
token_changes    making, renewing and ending delegation tokens
services         all of them, as connections see them
reconfiguring    using a new configuration
reloading        what SIGHUP changes
offline          the ACLs of a server that is stopped
command_logs     what commands that do not serve log
errors           why a server does not start
"""
