"""Detects the format of an input by its first bytes."""

from __future__ import annotations

import io
from typing import Any, BinaryIO, Final

from doorkeeper.dissector.capture_files import is_capture
from doorkeeper.dissector.errors import UnreadableInput
from doorkeeper.dissector.hex_text import is_hex_digits, is_hex_dump

_HEAD_BYTES: Final = 4096
_HEAD_BYTES_MIN: Final = 16
"""Enough for every magic number."""

FORMATS: Final = ("raw", "hex", "pcap")


class _Replay(io.RawIOBase):
    """A stream whose first bytes were read before."""

    def __init__(self, head: bytes, rest: io.BufferedIOBase) -> None:
        super().__init__()
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  any writable memory
        data = self._head[: len(buffer)] or _read_some(self._rest, len(buffer))
        self._head = self._head[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def with_head(stream: io.BufferedIOBase) -> tuple[bytes, BinaryIO]:
    """Return the first bytes of a stream, and a stream with all of it; pipes cannot seek.

    Reading from either waits for no more bytes than needed, so that a capture may still grow.

    Raises:
        UnreadableInput: the stream cannot be read; so does reading from the stream returned.
    """
    head = b""
    while len(head) < _HEAD_BYTES_MIN and (data := _read_some(stream, _HEAD_BYTES)):
        head += data
    return head, io.BufferedReader(_Replay(head, stream))


def _read_some(stream: io.BufferedIOBase, size: int) -> bytes:
    try:
        return stream.read1(size)
    except OSError as error:
        raise UnreadableInput(error.strerror) from None


def format_of(head: bytes) -> str:
    """Return the format of an input with these first bytes: pcap, hex, else raw."""
    if is_capture(head):
        return "pcap"
    return "hex" if is_hex_digits(head) or is_hex_dump(head) else "raw"
