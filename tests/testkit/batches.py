"""Record batches for tests, as producers send them."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

from crc32c import crc32c

from doorkeeper_broker.batches import read_batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper_wire.record_batches import RecordBatch

VERSION = 9


def varint(value: int) -> bytes:
    """Return a zigzag varint."""
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def record(delta: int, value: bytes, time_delta: int = 0) -> bytes:
    """Return a record without a key."""
    body = b"\0" + varint(time_delta) + varint(delta) + b"\1" + varint(len(value)) + value + b"\0"
    return varint(len(body)) + body


def batch_bytes(
    *values: bytes,
    times: Sequence[int] | None = None,
    producer: tuple[int, int, int] = (-1, -1, -1),
    attributes: int = 0,
    base_offset: int = 0,
) -> bytes:
    """Return a batch; ``producer`` is id, epoch and base sequence."""
    times = times or [1000] * len(values)
    deltas = enumerate(zip(values, times, strict=True))
    body = b"".join(record(number, value, time - times[0]) for number, (value, time) in deltas)
    if attributes & 7 == 1:
        body = gzip.compress(body)
    tail = b"".join(
        (
            attributes.to_bytes(2),
            (len(values) - 1).to_bytes(4),
            times[0].to_bytes(8),
            max(times).to_bytes(8),
            producer[0].to_bytes(8, signed=True),
            producer[1].to_bytes(2, signed=True),
            producer[2].to_bytes(4, signed=True),
            len(values).to_bytes(4),
            body,
        )
    )
    crc = crc32c(tail).to_bytes(4)
    head = base_offset.to_bytes(8) + (len(tail) + 9).to_bytes(4) + bytes(4) + b"\2"
    return head + crc + tail


def batch(*values: bytes, **options: object) -> RecordBatch:
    """Return a batch that was read."""
    return read_batch(batch_bytes(*values, **options), VERSION)  # type: ignore[arg-type]


def base_offsets(data: bytes) -> list[int]:
    """Return the base offset of each batch."""
    found = []
    while data:
        found.append(int.from_bytes(data[:8]))
        data = data[12 + int.from_bytes(data[8:12]) :]
    return found
