"""Record batches with one thing wrong each, behind a right checksum unless that is what is wrong.

Compressions are written by hand where a module of Python would be needed: LZ4 and Snappy as frames
whose blocks are not compressed.
"""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING, Final

import zstandard
from crc32c import crc32c

from testkit.batches import batch_bytes, record, varint

if TYPE_CHECKING:
    from collections.abc import Mapping

VALUES: Final = (b"one", b"two")
GOOD: Final = batch_bytes(*VALUES)
HEADER_BYTES: Final = 61
BODY: Final = GOOD[HEADER_BYTES:]
NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
NAMES: Final = ("none", "gzip", "snappy", "lz4", "zstd")

LENGTH, EPOCH, MAGIC, CRC, ATTRIBUTES = 8, 12, 16, 17, 21
LAST_DELTA, BASE_TIME, MAX_TIME = 23, 27, 35
PRODUCER, PRODUCER_EPOCH, SEQUENCE, COUNT = 43, 51, 53, 57

_LZ4_HEAD: Final = bytes.fromhex("04224d18604082")
_SNAPPY_HEAD: Final = b"\x82SNAPPY\0" + (1).to_bytes(4) * 2


def pack(compression: int, data: bytes) -> bytes:
    """Compress, as producers do."""
    if compression == GZIP:
        return gzip.compress(data, mtime=0)
    if compression == SNAPPY:
        literal = b"\xf4" + (len(data) - 1).to_bytes(2, "little") + data if data else b""
        block = _unsigned(len(data)) + literal
        return _SNAPPY_HEAD + len(block).to_bytes(4) + block
    if compression == LZ4:
        block = (len(data) | 0x80000000).to_bytes(4, "little") + data if data else b""
        return _LZ4_HEAD + block + bytes(4)
    if compression == ZSTD:
        return zstandard.compress(data)
    return data


def with_sum(data: bytes) -> bytes:
    """Return a batch with the checksum that it should have."""
    return data[:CRC] + crc32c(data[ATTRIBUTES:]).to_bytes(4) + data[ATTRIBUTES:]


def with_length(data: bytes) -> bytes:
    """Return a batch with the length and the checksum that it should have."""
    return with_sum(data[:LENGTH] + (len(data) - 12).to_bytes(4) + data[EPOCH:])


def changed(at: int, size: int, value: int, data: bytes = GOOD) -> bytes:
    """Return a batch with another number in its header."""
    new = value.to_bytes(size, signed=value < 0)
    return with_sum(data[:at] + new + data[at + size :])


def with_body(body: bytes, compression: int = NONE, count: int = len(VALUES)) -> bytes:
    """Return a batch with these bytes for its records; ``count`` is how many it claims."""
    head = changed(COUNT, 4, count, changed(LAST_DELTA, 4, count - 1))[:HEADER_BYTES]
    return changed(ATTRIBUTES, 2, compression, with_length(head + body))


def record_of(*fields: bytes) -> bytes:
    """Return a record of these fields behind a right length."""
    body = b"".join(fields)
    return varint(len(body)) + body


def _unsigned(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def _headers() -> Mapping[str, bytes]:
    with_producer = batch_bytes(*VALUES, producer=(7, 0, 0))
    transactional = batch_bytes(*VALUES, producer=(7, 0, 0), attributes=0x10)
    return {
        "no bytes": b"",
        "shorter than a length": GOOD[:11],
        "shorter than a header": GOOD[:60],
        "without its last byte": GOOD[:-1],
        "a negative length": changed(LENGTH, 4, -1),
        "a length of zero": changed(LENGTH, 4, 0),
        "a length below that of a header": changed(LENGTH, 4, 48),
        "a length of two gigabytes": changed(LENGTH, 4, 2**31 - 1),
        "a length that is one too small": changed(LENGTH, 4, len(GOOD) - 13),
        "a length that is one too large": changed(LENGTH, 4, len(GOOD) - 11),
        "magic 0": changed(MAGIC, 1, 0),
        "magic 1": changed(MAGIC, 1, 1),
        "magic 3": changed(MAGIC, 1, 3),
        "magic -1": changed(MAGIC, 1, 255),
        "a wrong checksum": GOOD[:CRC] + bytes(4) + GOOD[ATTRIBUTES:],
        "two batches": GOOD + GOOD,
        "bytes behind the batch": GOOD + b"\0",
        "compression 5": changed(ATTRIBUTES, 2, 5),
        "compression 7": changed(ATTRIBUTES, 2, 7),
        "a control batch": changed(ATTRIBUTES, 2, 0x20),
        "a control batch of a producer": changed(ATTRIBUTES, 2, 0x20, with_producer),
        "a transactional batch without a producer": changed(ATTRIBUTES, 2, 0x10),
        "a transactional batch without a transaction": transactional,
        "append time": changed(ATTRIBUTES, 2, 0x08),
        "a horizon of deletions": changed(ATTRIBUTES, 2, 0x40),
        "attributes without a meaning": changed(ATTRIBUTES, 2, 0xFF80),
        "no records": changed(COUNT, 4, 0),
        "no records and no offsets": changed(COUNT, 4, 0, changed(LAST_DELTA, 4, -1)),
        "a negative number of records": changed(COUNT, 4, -1),
        "a negative number of both": changed(COUNT, 4, -5, changed(LAST_DELTA, 4, -6)),
        "more records than offsets": changed(COUNT, 4, 3),
        "two thousand million records": changed(COUNT, 4, 2**31 - 1),
        "two thousand million of both": changed(
            COUNT, 4, 2**31 - 1, changed(LAST_DELTA, 4, 2**31 - 2)
        ),
        "a negative last offset": changed(LAST_DELTA, 4, -1),
        "the largest last offset": changed(LAST_DELTA, 4, 2**31 - 1),
        "a negative base offset": (-9).to_bytes(8, signed=True) + GOOD[8:],
        "a large base offset": (2**62).to_bytes(8) + GOOD[8:],
        "a negative leader epoch": changed(EPOCH, 4, -7),
        "a producer without an epoch": changed(PRODUCER_EPOCH, 2, -1, with_producer),
        "a producer without a sequence": changed(SEQUENCE, 4, -1, with_producer),
        "a sequence without a producer": changed(SEQUENCE, 4, 5),
        "a negative producer": changed(PRODUCER, 8, -9),
        "a latest time before all": changed(MAX_TIME, 8, -9),
    }


def _records() -> Mapping[str, bytes]:
    start, end, second = b"\0\0\0", b"\0", record(1, b"two")
    key, value = b"\1", varint(3) + b"one"
    huge = varint(2**31 - 1)
    first: Mapping[str, bytes] = {
        "a record of length -1": b"\1" + record(0, b"one")[1:],
        "a record of length 0": b"\0",
        "a record of two gigabytes": huge + record(0, b"one")[1:],
        "a record that is one too short": record(0, b"one")[:1] + record(0, b"one")[1:-1],
        "a record that claims one less": varint(8) + record(0, b"one")[1:],
        "a record that claims one more": varint(10) + record(0, b"one")[1:],
        "a record with a byte too many": record_of(start, key, value, end, b"\0"),
        "a key of length -2": record_of(start, varint(-2), value, end),
        "a key of two gigabytes": record_of(start, huge, value, end),
        "a value of length -2": record_of(start, key, varint(-2), end),
        "a value of two gigabytes": record_of(start, key, huge, b"one", end),
        "no value": record_of(start, key, b"\1", end),
        "no headers": record_of(start, key, value),
        "-1 headers": record_of(start, key, value, b"\1"),
        "two thousand million headers": record_of(start, key, value, huge),
        "a header without a key": record_of(start, key, value, b"\2\1\0"),
        "a header without a value": record_of(start, key, value, b"\2\2a\1"),
        "a header with a key that is no UTF-8": record_of(start, key, value, b"\2\2\xff\1"),
        "a header with a value of length -2": record_of(start, key, value, b"\2\2a\3"),
        "a header with a key of two gigabytes": record_of(start, key, value, b"\2", huge, b"a"),
        "attributes of a record": record_of(b"\xff\0\0", key, value, end),
        "the offset of another record": record(7, b"one"),
        "a negative offset": record(-1, b"one"),
        "a length that does not end": b"\xff" * 11,
        "a time that does not end": record_of(b"\0", b"\xff" * 11, key, value, end),
    }
    found = {name: with_body(data + second) for name, data in first.items()}
    return {
        **found,
        "no bytes for records": with_body(b""),
        "zeros for records": with_body(bytes(40)),
        "ones for records": with_body(b"\xff" * 40),
        "half of the records": with_body(BODY[: len(BODY) // 2]),
        "one record less than claimed": with_body(BODY, count=3),
        "one record more than claimed": with_body(BODY, count=1),
        "bytes behind the records": with_body(BODY + b"\0\0\0"),
        "a thousand records that are two": with_body(BODY, count=1000),
    }


def _compressed() -> Mapping[str, bytes]:
    found = {}
    for compression in (GZIP, SNAPPY, LZ4, ZSTD):
        whole, name = pack(compression, BODY), NAMES[compression]
        bodies: Mapping[str, bytes] = {
            "of nothing": pack(compression, b""),
            "of ones": pack(compression, b"\xff" * 40),
            "of half the records": pack(compression, BODY[: len(BODY) // 2]),
            "of a key of two gigabytes": pack(
                compression, record_of(b"\0\0\0", varint(2**31 - 1)) + record(1, b"two")
            ),
            "of no headers": pack(
                compression, record_of(b"\0\0\0\1", varint(3), b"one") + record(1, b"two")
            ),
            "of other offsets": pack(compression, record(4, b"one") + record(9, b"two")),
            "of bytes behind the records": pack(compression, BODY + b"\0\0\0"),
            "that is cut off": whole[: len(whole) // 2],
            "without bytes": b"",
            "that is not compressed": BODY,
            "of random bytes": bytes(number * 37 % 256 for number in range(60)),
            "with bytes behind it": whole + b"\0\0\0",
        }
        for case, body in bodies.items():
            found[f"{name} {case}"] = with_body(body, compression)
        found[f"{name} of fewer records"] = with_body(whole, compression, count=3)
        found[f"{name} of more records"] = with_body(whole, compression, count=1)
    squeezed = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = squeezed.compress(bytes(64 << 20)) + squeezed.flush()
    found["gzip of 64 megabytes of zeros"] = with_body(zeros, GZIP)
    return found


RIGHT: Final[Mapping[str, bytes]] = {
    name: with_body(pack(compression, BODY), compression) for compression, name in enumerate(NAMES)
}
HEADERS, RECORDS, COMPRESSED = _headers(), _records(), _compressed()
WRONG: Final[Mapping[str, bytes]] = {**HEADERS, **RECORDS, **COMPRESSED}
