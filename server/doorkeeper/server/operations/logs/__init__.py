"""The log: events of the server, and lines of the authorizer's log, on stdout.

pipeline           from an event to a line, by a bounded queue and a thread; start, reload, close;
                   the formats, console, JSON and Kafka's; fields whose values are hidden; the log
                   of a command that does not serve
levels             the level of each logger; records of Python's logging, from plug-ins
authorizer_file    Kafka's authorizer log as a file

A module logs with ``structlog.get_logger("doorkeeper.<part>")``.
"""
