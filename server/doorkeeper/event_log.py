"""Events with fields, by way of Python's ``logging``: for parts that are not given a logger.

    EventLog("doorkeeper.store").error("store_write_failed", error="disk full")

Where the log of the server is on, ``logs.standard_library`` makes one of its lines of each; for any
other handler an event is its text and its fields behind it.
"""

from __future__ import annotations

import logging


class Event:
    """The message of a record: what happened, and its fields."""

    __slots__ = ("fields", "text")

    def __init__(self, text: str, fields: dict[str, object]) -> None:
        self.text = text
        self.fields = fields

    def __str__(self) -> str:
        return " ".join([self.text, *(f"{name}={value}" for name, value in self.fields.items())])


class EventLog:
    """Logs events with fields under a name."""

    __slots__ = ("_logger",)

    def __init__(self, name: str) -> None:
        """Log under this name."""
        self._logger = logging.getLogger(name)

    def debug(self, event: str, **fields: object) -> None:
        """Log a detail."""
        self._logger.debug(Event(event, fields))

    def info(self, event: str, **fields: object) -> None:
        """Log what an operator wants to know."""
        self._logger.info(Event(event, fields))

    def warning(self, event: str, **fields: object) -> None:
        """Log what an operator should look at."""
        self._logger.warning(Event(event, fields))

    def error(self, event: str, **fields: object) -> None:
        """Log what went wrong; ``exc_info`` may carry the exception."""
        cause = fields.pop("exc_info", None)
        exc_info = cause if isinstance(cause, BaseException) else None
        self._logger.error(Event(event, fields), exc_info=exc_info)

    def exception(self, event: str, **fields: object) -> None:
        """Log what went wrong, with the traceback of the exception under way."""
        self._logger.exception(Event(event, fields))  # noqa: LOG004  the caller handles it
