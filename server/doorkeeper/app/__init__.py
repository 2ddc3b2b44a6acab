"""The assembly: one process with its store, authorizer, node, listeners and signals.

process          the life of the process: logs, loop, garbage collector, exit
assembly         from settings to a running server, and its end
live_node        the node as handlers see it
topic_changes    making and deleting topics
reloading        what SIGHUP changes
errors           why a server does not start
"""
