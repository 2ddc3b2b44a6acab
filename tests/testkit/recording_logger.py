"""A logger that keeps what it is told."""

from __future__ import annotations


class RecordingLogger:
    """Keeps events and their fields, by level."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, dict[str, object]]] = []

    def debug(self, event: str, **fields: object) -> None:
        """Keep a line."""
        self.lines.append(("debug", event, fields))

    def info(self, event: str, **fields: object) -> None:
        """Keep a line."""
        self.lines.append(("info", event, fields))

    def warning(self, event: str, **fields: object) -> None:
        """Keep a line."""
        self.lines.append(("warning", event, fields))

    def error(self, event: str, **fields: object) -> None:
        """Keep a line."""
        self.lines.append(("error", event, fields))

    exception = error
