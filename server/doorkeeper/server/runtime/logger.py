"""A structured log, as the parts of a server use it: an event in plain words, and its fields."""

from __future__ import annotations

from typing import Protocol


class Logger(Protocol):
    """Logs events with fields; ``exc_info`` may be an exception."""

    def debug(self, event: str, **fields: object) -> object: ...

    def info(self, event: str, **fields: object) -> object: ...

    def warning(self, event: str, **fields: object) -> object:
        """Log a fault outside the server, such as a client's."""
        ...

    def error(self, event: str, **fields: object) -> object:
        """Log a fault of the server."""
        ...

    def exception(self, event: str, **fields: object) -> object:
        """Log a fault of the server, with the exception being handled."""
        ...


class NoLog:
    """Writes nothing: for parts that are used outside a server."""

    def debug(self, event: str, **fields: object) -> None: ...

    info = warning = error = exception = debug


NO_LOG: Logger = NoLog()
