"""The log: events of the server, and lines of the authorizer's log, on stdout.

pipeline           from an event to a line, by a bounded queue and a thread; start, reload, close
levels             the level of each logger; records of Python's logging, from plug-ins
rendering          the formats of a line: console, JSON, Kafka's; fields whose values are hidden
authorizer_file    Kafka's authorizer log as a file
command_log        the log of a command that does not serve

A module logs with ``structlog.get_logger("doorkeeper.<part>")``.
"""
