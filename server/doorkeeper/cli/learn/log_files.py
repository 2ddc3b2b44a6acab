"""Authorization requests of Doorkeeper's audit log, and of ``kafka-authorizer.log``.

The first line tells which it is: events of the audit log are JSON objects. The log has the layout
of Kafka, ``[%d] %p %m (%c)%n``; lines of other loggers between its records are ignored. Its times
have no zone, and count as UTC.

Kafka logs allowed requests at DEBUG.
"""

from __future__ import annotations

import datetime as dt
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from doorkeeper.acls.decision import Question
from doorkeeper.acls.formats.authorizer_message import (
    BEGIN,
    END,
    OTHER_RECORD,
    Bad,
    Ignored,
    Record,
    read_record,
)
from doorkeeper.acls.model import AclOperation, ResourceType
from doorkeeper.cli.learn.requests import AccessCounts, AccessKey
from doorkeeper.server.operations.audit.names import COMPRESSED, AuditFile
from doorkeeper.server.operations.audit.reading import UnreadableFile, event_of, lines_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from doorkeeper.acls.recorded_access import RecordedAccess
    from doorkeeper.server.operations.audit.reading import Line

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_NS_PER_S: Final = 1_000_000_000
_SHOWN: Final = 60

RECORD_BYTES_MAX: Final = 4 << 20
"""The longest record: names have at most 32,767 bytes, and a record holds a few of them."""


class UnreadableLog(Exception):
    """A file is no log, or cannot be read; the text has the place and the allowed forms."""


class LoggedRequests:
    """The distinct authorization requests of files, with their numbers."""

    def __init__(self) -> None:
        self._counts = AccessCounts()
        self.lines = 0
        """The number of lines that were read."""
        self.unreadable = 0
        self.first_unreadable = ""
        """The number of records that cannot be read, and the first: ``file:line: reason``."""

    def read(self, path: Path) -> None:
        """Add the requests of a file.

        Raises:
            UnreadableLog: it cannot be read, or is no log.
        """
        file = AuditFile(0, 0, None, path.with_name(path.name))
        if path.name.endswith(COMPRESSED):
            file = replace(file, last=0)
        lines = self._counted(_whole_lines(path, file))
        first = next(lines, None)
        if first is None:
            return
        rest = chain([first], lines)
        if first.data.lstrip().startswith(b"{"):
            self._read_events(path, rest)
        else:
            self._read_records(path, rest)
        # A torn line in a log is usual; a file without any request is probably something else.
        if not self._counts and self.unreadable:
            raise UnreadableLog(
                f"{self.first_unreadable}; expected: an audit log, or kafka-authorizer.log in"
                " Kafka's default layout"
            )

    def accesses(self) -> list[RecordedAccess]:
        """Return the accesses, in the order of their first occurrence in the files."""
        return self._counts.accesses()

    def _counted(self, lines: Iterable[Line]) -> Iterator[Line]:
        for line in lines:
            self.lines += 1
            yield line

    # --- the audit log

    def _read_events(self, path: Path, lines: Iterable[Line]) -> None:
        for line in lines:
            event = event_of(line.data)
            if event is None:
                # The last line of a file that is being written may be cut.
                if line.is_whole:
                    self._reject(path, line.number, "not an event of the audit log", line.data)
                continue
            if event["kind"] == "decision" and event.get("pattern_type") == "LITERAL":
                try:
                    self._add_event(event)
                except (KeyError, TypeError, ValueError, OverflowError):
                    self._reject(path, line.number, "not a decision of the audit log", line.data)

    def _add_event(self, event: dict[str, Any]) -> None:
        if event["reference_count"] == 0:
            return  # about any resource of a type
        question = Question(
            event["principal"],
            event["host"],
            AclOperation[event["operation"]],
            ResourceType[event["resource_type"]],
            event["resource_name"],
        )
        seen = AccessKey(
            question,
            event["api"],
            event["outcome"] == "ALLOWED",
            bool(event["log_if_allowed"]),
            bool(event["log_if_denied"]),
        )
        first = _EPOCH + dt.timedelta(seconds=event["first_ns"] // _NS_PER_S)
        self._counts.add(seen, first, int(event["count"]))

    # --- kafka-authorizer.log

    def _read_records(self, path: Path, lines: Iterable[Line]) -> None:
        for number, data in _records(lines):
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError:
                self._reject(path, number, "invalid UTF-8", data)
                continue
            match read_record(text):
                case Record() as record:
                    try:
                        self._add_record(record)
                    except ValueError:
                        self._reject(path, number, "not a valid date", data)
                case Bad(reason):
                    self._reject(path, number, reason, data)
                case Ignored():
                    pass

    def _add_record(self, record: Record) -> None:
        message = record.message
        question = Question(
            message.principal,
            message.host,
            AclOperation[message.operation],
            ResourceType[message.resource_type],
            message.resource_name,
        )
        allowed = message.outcome == "ALLOWED"
        # A line shows one of the two: whether an allowed request would be reported if it were
        # refused is unknown.
        logged = not message.probe
        seen = AccessKey(question, message.api, allowed, logged, None if allowed else logged)
        self._counts.add(seen, dt.datetime.fromisoformat(record.time).replace(tzinfo=dt.UTC))

    def _reject(self, path: Path, number: int, reason: str, data: bytes) -> None:
        self.unreadable += 1
        if self.first_unreadable:
            return
        text = data.decode("utf-8", "replace")
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        self.first_unreadable = f"{path}:{number}: {reason}; found {shown!r}"


def _whole_lines(path: Path, file: AuditFile) -> Iterator[Line]:
    try:
        yield from lines_of(file)
    except UnreadableFile as error:
        raise UnreadableLog(f"{path}: {error}") from error


def _records(lines: Iterable[Line]) -> Iterator[tuple[int, bytes]]:
    """Yield records and other lines, each with the number of its first line.

    A record goes on until its end, because names may hold line breaks.
    """
    parts: list[bytes] = []
    number = size = 0
    for line in lines:
        data = line.data.removesuffix(b"\r")
        text = data.decode("utf-8", "replace")
        begins = BEGIN.match(text) is not None
        if parts and (begins or size > RECORD_BYTES_MAX):
            # The record before has no end: it is torn.
            yield number, b"\n".join(parts)
            parts = []
        if not parts:
            number, size = line.number, 0
            if not begins or OTHER_RECORD.match(text):
                yield number, data
                continue
        parts.append(data)
        size += len(data)
        if text.endswith(END):
            yield number, b"\n".join(parts)
            parts = []
    if parts:
        yield number, b"\n".join(parts)
