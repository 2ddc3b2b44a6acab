"""Compressed record batches: gzip, snappy, lz4 and zstd, all of which Arrow reads.

Source: ``CompressionType`` and ``SnappyCompression`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from doorkeeper_pipeline.errors import Unreadable

BYTES_MAX: Final = 256 << 20
"""The most that a batch may unpack to: brokers accept batches of a megabyte, and a batch of zeros
may be a thousand times as large unpacked."""

PART_BYTES: Final = 1 << 20
_XERIAL: Final = b"\x82SNAPPY\x00"
"""The begin of the frames of Java's library; others send plain snappy."""

_XERIAL_HEADER: Final = 16


def decompress(kind: int, data: bytes) -> bytes:
    """Return the records of a batch; ``kind`` is the code of its attributes.

    Raises:
        Unreadable: they are damaged, too large, or in no compression of Kafka's.

    """
    if kind == 0:
        return data
    known: dict[int, tuple[str, Callable[[bytes], bytes]]] = {
        1: ("gzip", lambda packed: _stream("gzip", packed)),
        2: ("snappy", _snappy),
        3: ("lz4", lambda packed: _stream("lz4", packed)),
        4: ("zstd", lambda packed: _stream("zstd", packed)),
    }
    if kind not in known:
        raise Unreadable(
            f"found compression {kind}; supported: gzip, snappy, lz4 and zstd (1 to 4)"
        )
    name, unpack = known[kind]
    try:
        found = unpack(data)
    except (OSError, ValueError, IndexError) as error:
        raise Unreadable(f"damaged {name}: {' '.join(str(error).split())}") from error
    if len(found) > BYTES_MAX:
        raise Unreadable(f"{name}: a batch of more than {BYTES_MAX >> 20} MB")
    return found


def _stream(name: str, packed: bytes) -> bytes:
    import pyarrow as pa

    parts: list[bytes] = []
    with pa.CompressedInputStream(pa.BufferReader(packed), name) as stream:
        # The whole size at once would be allocated for each small batch.
        while len(parts) * PART_BYTES <= BYTES_MAX and (part := stream.read(PART_BYTES)):
            parts.append(part)
    return b"".join(parts)


def _snappy(packed: bytes) -> bytes:
    """Unpack plain snappy, or blocks of it, each after its length."""
    if not packed.startswith(_XERIAL):
        return _snappy_block(packed)
    parts = []
    at, size = _XERIAL_HEADER, 0
    while at < len(packed) and size <= BYTES_MAX:
        length = int.from_bytes(packed[at : at + 4])
        block = packed[at + 4 : at + 4 + length]
        if len(block) != length:
            raise ValueError("it is cut off")
        parts.append(_snappy_block(block))
        size += len(parts[-1])
        at += 4 + length
    return b"".join(parts)


def _snappy_block(block: bytes) -> bytes:
    import pyarrow as pa

    size = shift = 0
    for byte in block[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    # Snappy copies at most 64 bytes for two or three of its own.
    if size > BYTES_MAX or size > 64 * len(block):
        raise ValueError(f"it claims {size} bytes")
    return bytes(pa.decompress(block, decompressed_size=size, codec="snappy", asbytes=True))
