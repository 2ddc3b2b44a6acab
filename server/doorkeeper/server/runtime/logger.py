"""A structured log, as the parts of a server use it: an event in plain words, and its fields."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Protocol

NO_FIELDS: Final[Mapping[str, object]] = MappingProxyType({})


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


class LeveledLogger(ABC):
    """A logger with the levels of ``config.levels``, whose methods all call ``write``."""

    __slots__ = ()

    @abstractmethod
    def write(self, level: int, event: str, fields: Mapping[str, object] = NO_FIELDS, /) -> None:
        """Log an event if its level is written."""

    def trace(self, event: str, **fields: object) -> None:
        self.write(5, event, fields)

    def debug(self, event: str, **fields: object) -> None:
        self.write(10, event, fields)

    def info(self, event: str, **fields: object) -> None:
        self.write(20, event, fields)

    def warning(self, event: str, **fields: object) -> None:
        self.write(30, event, fields)

    def error(self, event: str, **fields: object) -> None:
        self.write(40, event, fields)

    def exception(self, event: str, **fields: object) -> None:
        """Log an error with the traceback of the exception being handled."""
        self.write(40, event, {"exc_info": True, **fields})


class NoLog:
    """Writes nothing: for parts that are used outside a server."""

    def debug(self, event: str, **fields: object) -> None: ...

    info = warning = error = exception = debug


NO_LOG: Logger = NoLog()
