"""Bytes from hexadecimal text: digits alone, or lines with offsets as xxd and hexdump -C print.

Sources: ``xxd``, ``hexdump -C``, Wireshark's "copy as hex dump".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, BinaryIO, Final

from doorkeeper.dissector.errors import UnreadableInput
from doorkeeper.dissector.frame_cutter import FRAME_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK_BYTES: Final = 64 * 1024
_LINE_BYTES_MAX: Final = 4096
_REPEATED_BYTES_MAX: Final = FRAME_BYTES_MAX
"""The most that one ``*`` may stand for: a few bytes of text must not become terabytes."""

_DIGITS: Final = b"0123456789abcdefABCDEF"
_SPACES: Final = b" \t\r\n\f\v"

_XXD_LINE: Final = re.compile(
    rb"([0-9a-f]{4,16}): ((?:[0-9a-f]{2})+(?: (?:[0-9a-f]{2})+)*)(?: {2,}.*)?", re.IGNORECASE
)
_HEXDUMP_LINE: Final = re.compile(
    rb"([0-9a-f]{4,16}) {2,3}([0-9a-f]{2}(?: {1,2}[0-9a-f]{2}){0,15})(?: {2,}.*)?", re.IGNORECASE
)
_LAST_OFFSET: Final = re.compile(rb"[0-9a-f]{4,16}", re.IGNORECASE)


def is_hex_digits(head: bytes) -> bool:
    """Return whether there are only hexadecimal digits and white space, and some digits."""
    return bool(head.strip(_SPACES)) and not head.translate(None, _DIGITS + _SPACES)


def is_hex_dump(head: bytes) -> bool:
    """Return whether the first line is a line of a dump with offsets."""
    return _dump_line(head.lstrip(_SPACES).partition(b"\n")[0].rstrip(_SPACES)) is not None


def hex_digits(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes of hexadecimal digits.

    Raises:
        UnreadableInput: another character, or an odd number of digits.
    """
    offset, carried = 0, b""
    while chunk := stream.read(CHUNK_BYTES):
        digits = chunk.translate(None, _SPACES)
        if odd := digits.translate(None, _DIGITS):
            at = offset + chunk.index(odd[:1])
            raise UnreadableInput(f"byte {at}: {odd[:1]!r} is no hexadecimal digit")
        offset += len(chunk)
        # A chunk may end between the two digits of a byte.
        digits = carried + digits
        even = len(digits) // 2 * 2
        carried = digits[even:]
        yield bytes.fromhex(digits[:even].decode())
    if carried:
        raise UnreadableInput("an odd number of hexadecimal digits")


def hex_dump(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes of a dump; ``*`` stands for repeated lines, as in hexdump -C.

    Raises:
        UnreadableInput: a line is not part of a dump, or its offset does not follow.
    """
    expected: int | None = None
    previous, repeats, number = b"", False, 0
    while whole := stream.readline(_LINE_BYTES_MAX):
        number += 1
        line = whole.strip(_SPACES)
        if not line:
            continue
        if line == b"*" and previous:
            repeats = True
            continue
        found = _dump_line(line) or _end_line(line)
        if found is None:
            raise UnreadableInput(f"line {number} is no line of a hex dump")
        offset, data = found
        if repeats and expected is not None:
            gap = offset - expected
            if gap < 0 or gap % len(previous):
                raise _wrong_offset(number, offset, expected)
            if gap > _REPEATED_BYTES_MAX:
                raise UnreadableInput(
                    f"line {number} repeats {gap} bytes; at most {_REPEATED_BYTES_MAX}"
                )
            # Yielded line by line, so that a long repetition needs no memory.
            for _ in range(gap // len(previous)):
                yield previous
            expected, repeats = offset, False
        if expected is not None and offset != expected:
            raise _wrong_offset(number, offset, expected)
        expected, previous = offset + len(data), data or previous
        yield data


def _wrong_offset(number: int, offset: int, expected: int) -> UnreadableInput:
    return UnreadableInput(f"line {number}: offset {offset:#x}, expected is {expected:#x}")


def _dump_line(line: bytes) -> tuple[int, bytes] | None:
    found = _XXD_LINE.fullmatch(line) or _HEXDUMP_LINE.fullmatch(line)
    if found is None:
        return None
    return int(found[1], 16), bytes.fromhex(found[2].decode())


def _end_line(line: bytes) -> tuple[int, bytes] | None:
    """Return the offset in the last line of hexdump -C, which has no bytes."""
    return (int(line, 16), b"") if _LAST_OFFSET.fullmatch(line) else None
