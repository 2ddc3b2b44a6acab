"""A structured log, as the parts of a server use it: an event in plain words, and its fields."""

from __future__ import annotations

from typing import Protocol


class Logger(Protocol):
    """Logs events with fields; ``exc_info`` may carry an exception."""

    def debug(self, event: str, **fields: object) -> object:
        """Log a detail for developers."""
        ...

    def info(self, event: str, **fields: object) -> object:
        """Log what operators may want to know."""
        ...

    def warning(self, event: str, **fields: object) -> object:
        """Log that something outside is wrong."""
        ...

    def error(self, event: str, **fields: object) -> object:
        """Log that something here is wrong."""
        ...

    def exception(self, event: str, **fields: object) -> object:
        """Log that something here is wrong, with the exception that is being handled."""
        ...


class NoLog:
    """Writes nothing: for parts that are used outside a server."""

    def debug(self, event: str, **fields: object) -> None:
        """Write nothing."""

    info = warning = error = exception = debug


NO_LOG: Logger = NoLog()
