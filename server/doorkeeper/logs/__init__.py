"""The log: events of the server, and the audit lines of the authorizer, as lines on stdout.

    pipeline           from an event to a queued line; start, reload, close
    thresholds         which levels of which loggers are written
    rendering          the looks of a line: console, JSON, Kafka's
    secrets            what is never written
    standard_library   what Python's logging brings, from plug-ins
    line_writer        a bounded queue and a thread: writing never blocks who logs

A module that logs asks for ``structlog.get_logger("doorkeeper.<part>")``.
"""
