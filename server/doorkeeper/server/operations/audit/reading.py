"""Reader of files of the audit log: numbered lines, compressed or not."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Final

from msgspec import Struct

from doorkeeper.server.operations.audit.names import AuditFile

# A longer line is invalid: a change has at most 10,000 ACLs, about 30 MB at worst.
LINE_BYTES_MAX: Final = 64 * 1024 * 1024

NUMBER_MAX: Final = (1 << 63) - 1
"""Greatest number or time of an event: they have 64 bits."""


class Line(Struct, frozen=True):
    """One line; ``number`` starts at 1. ``is_whole``: it ends with a line feed."""

    number: int
    data: bytes
    is_whole: bool


class UnreadableFile(Exception):
    """A file that cannot be read to its end; the text has the reason."""


class GoneFile(UnreadableFile):
    """A listed file that no longer exists: a server has closed it, or deleted it for its age."""


def lines_of(file: AuditFile) -> Iterator[Line]:
    """Yield the lines of a file.

    Raises:
        GoneFile: it no longer exists; nothing was yielded.
        UnreadableFile: it cannot be opened or decompressed; the lines before were yielded.
    """
    number = 0
    broken: tuple[type[Exception], ...] = ()
    if file.is_compressed:
        import zstandard

        broken = (zstandard.ZstdError,)
    try:
        with open_stream(file) as stream:
            while data := stream.readline(LINE_BYTES_MAX):
                number += 1
                is_whole = data.endswith(b"\n")
                if not is_whole and len(data) == LINE_BYTES_MAX:
                    raise UnreadableFile(f"line {number} has more than {LINE_BYTES_MAX} bytes")
                yield Line(number, data.removesuffix(b"\n"), is_whole)
    except FileNotFoundError as error:
        raise GoneFile(str(error.strerror)) from error
    except OSError as error:
        raise UnreadableFile(error.strerror or str(error)) from error
    except broken as error:
        raise UnreadableFile(f"after line {number}: {error}") from error


def event_of(line: bytes) -> dict[str, Any] | None:
    """Return the event of a line; None if it has no valid kind, number, node or time."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not isinstance(event.get("kind"), str):
        return None
    numbers = [event.get(name) for name in ("seq", "node", "ts_ns")]
    if not all(type(number) is int and 0 <= number <= NUMBER_MAX for number in numbers):
        return None
    return event


@contextmanager
def open_stream(file: AuditFile) -> Iterator[IO[bytes]]:
    if not file.is_compressed:
        with file.path.open("rb") as plain:
            yield plain
        return

    import zstandard

    with file.path.open("rb") as compressed:
        reader: Any = zstandard.ZstdDecompressor().stream_reader(compressed, closefd=False)
        with io.BufferedReader(reader, 1 << 16) as stream:
            yield stream
