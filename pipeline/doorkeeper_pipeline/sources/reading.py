"""The bytes of a file, uncompressed, in pieces that fit into memory."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from doorkeeper_pipeline.errors import Damaged, Unreadable

BLOCK_BYTES = 32 << 20
"""Bytes that are parsed at once: columnar work needs some ten times as many."""

PART_BYTES, UNPACKED_PART_BYTES = 320 << 20, 30 << 20
"""Bytes that are kept as rows until they are written: of a range of a task all at once
(``jobs.read``), so that equal lines are parsed once. A compressed file of any size is one
range, and its parts are smaller, so that reading it takes about half a gigabyte."""

PACKED_BYTES = 1 << 12
"""Compressed bytes that are unpacked at once: small, since zstd makes up to 32,000 times as many of
them, and a file may be made to do that."""

BOM = b"\xef\xbb\xbf"
"""The mark that Windows writes in front of UTF-8."""

UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""The marks in front of UTF-16, as PowerShell writes a redirected output."""

RECORD_BYTES_MAX = 4 << 20
"""The longest record that is waited for: names have 32,767 bytes at most in Kafka's own protocol,
and a message holds a few of them. A longer one is cut, and ends in quarantine."""


INVALID_UTF8 = "invalid UTF-8"
_ONE_BYTE = {0xDC00 + byte: chr(byte) for byte in range(0x80, 0x100)}


def readable(raw: bytes) -> str:
    """Return bytes as a text, of which those that are not UTF-8 are letters of ISO 8859-1.

    A broker of a country without UTF-8 writes names so, and ACLs have the letters.
    """
    return raw.decode("utf-8", "surrogateescape").translate(_ONE_BYTE)


def part_bytes(how: str) -> int:
    """Return how many uncompressed bytes of a range are parsed before their rows are written."""
    return UNPACKED_PART_BYTES if how else PART_BYTES


_MAGIC = {b"\x1f\x8b": "gz", b"\x28\xb5\x2f\xfd": "zst", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz"}
XZ_BYTES_MAX = 256 << 20
"""Memory that unpacking xz may take; its own highest level takes 65 MB."""


def compression(path: Path) -> str:
    """Return gz, zst, bz2, xz or nothing, by the file's first bytes."""
    with opened_raw(path) as file:
        start = file.read(6)
    return next((how for magic, how in _MAGIC.items() if start.startswith(magic)), "")


@contextmanager
def opened_raw(path: Path) -> Iterator[IO[bytes]]:
    """Open a file as it is.

    Raises:
        Unreadable: it cannot be opened; says why.

    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from error
    with file:
        yield file


@contextmanager
def open_file(path: Path, how: str) -> Iterator[IO[bytes]]:
    """Open a file, uncompressed by ``how``: gz, zst, bz2, xz or nothing.

    Raises:
        Damaged: it ends inside of its compression, or is broken.
        Unreadable: it cannot be opened.

    """
    with opened_raw(path) as raw:
        try:
            yield cast("IO[bytes]", _Unpacked(raw, path, how)) if how else raw
        except (zlib.error, lzma.LZMAError) as error:
            raise Damaged(f"{path}: damaged {how}: {error}") from error
        except Exception as error:
            if type(error).__name__ == "ZstdError":
                raise Damaged(f"{path}: damaged zst: {error}") from error
            raise


class _Unpacked:
    """A compressed file, uncompressed, that gives everything before a damage."""

    def __init__(self, raw: IO[bytes], path: Path, how: str) -> None:
        self._raw = raw
        self._path = path
        self._how = how
        self._frame: Any = None
        self._packed = b""
        self._unpacked = b""
        self._is_behind = False
        """Whether a frame has ended: zeros behind the last one of a gz file are padding."""

    def read(self, size: int) -> bytes:
        """Return bytes, at most so many; none at the end.

        Raises:
            Damaged: the file ends inside of a frame, or is broken.

        """
        while not self._unpacked:
            self._packed = self._packed or self._raw.read(PACKED_BYTES)
            if not self._packed:
                if self._frame is not None:
                    raise Damaged(f"{self._path}: damaged {self._how}: the file is cut off")
                return b""
            if self._is_behind and self._how == "gz" and self._frame is None:
                self._packed = self._packed.lstrip(b"\0")
                if not self._packed:
                    continue
            self._frame = self._frame or _decompressor(self._how)
            try:
                self._unpacked = self._frame.decompress(self._packed)
            except OSError as error:  # bz2's
                raise Damaged(f"{self._path}: damaged {self._how}: {error}") from error
            self._packed = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame, self._is_behind = None, True
        data, self._unpacked = self._unpacked[:size], self._unpacked[size:]
        return data


def _decompressor(how: str) -> object:
    """Return an object that unpacks one frame; of zst a library is imported where it is needed."""
    if how == "gz":
        return zlib.decompressobj(zlib.MAX_WBITS | 16)
    if how == "bz2":
        return bz2.BZ2Decompressor()
    if how == "xz":
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, XZ_BYTES_MAX)
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj()


def head(path: Path, how: str, size: int) -> bytes:
    """Return the first bytes of a file, uncompressed; fewer where it is shorter, or damaged.

    Raises:
        Damaged: not one byte can be read.

    """
    with open_file(path, how) as file:
        data, damage = _read_fully(file, size)
        if damage is not None and not data:
            raise damage
        return data


def _read_fully(file: IO[bytes], size: int) -> tuple[bytes, Exception | None]:
    """Read until the size, the end or a damage; streams of compressors give less at a time."""
    parts = []
    try:
        while size > 0 and (part := file.read(size)):
            parts.append(part)
            size -= len(part)
    except Exception as error:  # noqa: BLE001  each library has its own; it is raised later
        return b"".join(parts), error
    return b"".join(parts), None


def blocks(
    path: Path, how: str, start: int = 0, end: int | None = None, size: int = BLOCK_BYTES
) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, bytes) of a file from start to end; offsets count uncompressed bytes.

    A range is only asked of files that are not compressed. A mark of Windows at the beginning is
    passed over.

    Raises:
        Damaged: the file is broken after the last block.

    """
    with open_file(path, how) as file:
        if start:
            file.seek(start)
        offset = start
        while True:
            block_size = size if end is None else min(size, end - offset)
            block, damage = _read_fully(file, block_size)
            if offset == 0 and block.startswith(BOM):
                offset, block = len(BOM), block.removeprefix(BOM)
            if block:
                yield offset, block
            if damage is not None:
                raise damage
            if not block:
                return
            offset += len(block)


def cut_blocks(
    path: Path, how: str, start: int, end: int | None, cut_of: Callable[[bytes, int], int]
) -> Iterator[tuple[int, memoryview]]:
    """Yield blocks that end where a record ends; the last one ends where the range does.

    ``cut_of`` says where that is in some bytes of which so many were searched before, 0 for none.
    Blocks are views: to copy one takes as long as to look for its lines.

    Raises:
        Damaged: the file is broken after the last block.

    """
    rest, rest_at = b"", start
    try:
        for at, block in blocks(path, how, start, end):
            data, rest_at = rest + block, at - len(rest)
            cut = cut_of(data, len(rest))
            if cut == 0 and len(data) < len(block) + RECORD_BYTES_MAX:
                rest = data
                continue
            cut = cut or data.rfind(b"\n") + 1 or len(data)
            yield rest_at, memoryview(data)[:cut]
            rest, rest_at = data[cut:], rest_at + cut
    except Damaged:
        if rest:
            yield rest_at, memoryview(rest)
        raise
    if rest:
        yield rest_at, memoryview(rest)


def whole_lines(path: Path, how: str, start: int, end: int | None) -> Iterator[tuple[int, bytes]]:
    """Yield blocks that end where a line ends.

    Raises:
        Damaged: the file is broken after the last block.

    """
    for at, block in cut_blocks(path, how, start, end, lambda data, _: data.rfind(b"\n") + 1):
        yield at, bytes(block)
