"""Batches of records, which clients, the test broker and the pipeline read with one reader."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper_wire.errors import Malformed
from doorkeeper_wire.record_batches import (
    RecordBatch,
    read_batches,
    read_int,
    read_long,
    varint,
)
from testkit.batches import batch_bytes
from testkit.batches import varint as reference

GOOD = batch_bytes(b"a", b"bc" * 100, times=[5, 9], base_offset=7, producer=(3, 2, 0x7FFFFFFF))


def only(data: bytes) -> RecordBatch:
    (batch,) = read_batches(data)
    return batch


def test_batch_has_fields_and_records() -> None:
    batch = only(GOOD)

    assert (batch.base_offset, batch.last_offset, batch.leader_epoch) == (7, 8, 0)
    assert (batch.producer_id, batch.producer_epoch, batch.last_sequence) == (3, 2, 0)
    assert (batch.base_timestamp, batch.max_timestamp, batch.record_count) == (5, 9, 2)
    assert (batch.compression, batch.is_control, batch.is_transactional) == (0, False, False)
    assert list(batch.records(batch.body)) == [(0, 0, None, b"a"), (1, 4, None, b"bc" * 100)]
    control = only(batch_bytes(b"a", attributes=0x38))
    assert (control.is_control, control.is_transactional, control.has_append_time) == (True,) * 3


def test_truncated_batch_is_ignored() -> None:
    for size in range(len(GOOD)):
        assert list(read_batches(GOOD + GOOD[:size])) == [only(GOOD)]
    body = only(GOOD).body
    for size in range(len(body)):
        with pytest.raises(Malformed, match=r"ends within a record"):
            list(only(GOOD).records(body[:size]))


@pytest.mark.parametrize(
    ("at", "new", "text"),
    [(16, b"\1", "format 1; supported: 2"), (8, b"\0\0\0\x30", "a batch of 48 bytes")],
)
def test_other_formats_are_named(at: int, new: bytes, text: str) -> None:
    """A release before 0.11, or no batch at all."""
    with pytest.raises(Malformed, match=text):
        list(read_batches(GOOD[:at] + new + GOOD[at + len(new) :]))


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_zigzag_varints(value: int) -> None:
    """As zigzag varints: of 32 and of 64 bits."""
    data = varint(value) + b"!"

    assert data == reference(value) + b"!"
    assert read_long(data, 0) == (value, len(data) - 1)
    if -(1 << 31) <= value < 1 << 31:
        assert read_int(data, 0) == (value, len(data) - 1)


@pytest.mark.parametrize(("read", "size"), [(read_int, 5), (read_long, 10)])
def test_varint_length_is_limited(read: object, size: int) -> None:
    assert callable(read)
    with pytest.raises(Malformed, match=f"more than {size} bytes"):
        read(b"\xff" * 20, 0)
    with pytest.raises(IndexError):
        read(b"\xff" * (size - 1), 0)
