"""Record batches as a consumer reads them."""

from __future__ import annotations

import pytest

from doorkeeper_broker.batches import marker
from doorkeeper_pipeline.errors import Unreadable
from doorkeeper_pipeline.topics.batches import Record, read_records
from testkit.batches import batch_bytes

TRANSACTIONAL = 0x10


def marker_bytes(producer: int, offset: int, *, commits: bool) -> bytes:
    """Return a batch with the marker of a transaction."""
    data = marker(producer, 0, 1000, commits=commits).data
    return offset.to_bytes(8) + data[8:]


def test_records_have_offsets() -> None:
    data = batch_bytes(b"a", b"b", base_offset=7) + batch_bytes(b"c" * 300, base_offset=20)

    found = read_records(data, ())

    assert found == ([Record(7, b"a"), Record(8, b"b"), Record(20, b"c" * 300)], 21)


def test_truncated_batch_is_ignored() -> None:
    whole, second = batch_bytes(b"a"), batch_bytes(b"b", base_offset=1)

    for size in range(len(second)):
        assert read_records(whole + second[:size], ()) == ([Record(0, b"a")], 1)
    assert read_records(b"", ()) == ([], -1)


def test_aborted_transactions_are_skipped() -> None:
    data = b"".join(
        (
            batch_bytes(b"bad", producer=(1, 0, 0), attributes=TRANSACTIONAL),
            batch_bytes(b"good", producer=(2, 0, 0), attributes=TRANSACTIONAL, base_offset=1),
            marker_bytes(1, 2, commits=False),
            batch_bytes(b"later", producer=(1, 0, 1), attributes=TRANSACTIONAL, base_offset=3),
            marker_bytes(2, 4, commits=True),
        )
    )

    found, behind = read_records(data, [(1, 0)])

    assert [each.value for each in found] == [b"good", b"later"]
    assert behind == 5


def test_damaged_batch_is_reported() -> None:
    data = bytearray(batch_bytes(b"value", base_offset=7))
    data[-2] ^= 1

    with pytest.raises(Unreadable, match="the batch at offset 7 is damaged"):
        read_records(bytes(data), ())


def test_old_batch_format_is_named() -> None:
    data = bytearray(batch_bytes(b"value"))
    data[16] = 1

    with pytest.raises(Unreadable, match=r"a batch of format 1; supported: 2, of Kafka 0\.11"):
        read_records(bytes(data), ())


def test_unknown_compression_is_named() -> None:
    with pytest.raises(Unreadable, match="found compression 5; supported: gzip, snappy, lz4"):
        read_records(batch_bytes(b"value", attributes=5), ())
