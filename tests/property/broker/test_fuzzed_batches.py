"""Record batches with any damage: refused, or appended and read back; nothing else is raised."""

from __future__ import annotations

from contextlib import suppress

from crc32c import crc32c
from hypothesis import example, given
from hypothesis import strategies as st

from doorkeeper.base.errors import ApiError
from doorkeeper_broker.batches import check_batch, read_batch
from doorkeeper_broker.contents import Inspection, check_records
from doorkeeper_broker.log import Memory, PartitionLog
from testkit.batches import batch_bytes

GOOD = batch_bytes(b"one", b"two", times=[5, 9], producer=(7, 0, 0))
GZIPPED = batch_bytes(b"one", b"two", attributes=1)
OFFSET_DELTA = 74
"""Where the second record of the first one has its offset delta."""


def changed(data: bytearray, at: int, new: int) -> bytes:
    """Return a batch with another byte and a right checksum."""
    data[at] = new
    data[17:21] = crc32c(bytes(data[21:])).to_bytes(4)
    return bytes(data)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Return a batch with changed bytes, often with a right checksum; or bytes of any kind."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=200))
    data = bytearray(draw(st.sampled_from([GOOD, GZIPPED])))
    for at, new in draw(st.lists(st.tuples(st.integers(0, len(data) - 1), st.integers(0, 255)))):
        data[at] = new
    if draw(st.booleans()):
        data[17:21] = crc32c(bytes(data[21:])).to_bytes(4)
    return bytes(data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data)


@example([changed(bytearray(GOOD), OFFSET_DELTA, 1)], 3, 0)
@given(st.lists(damaged(), max_size=5), st.integers(3, 13), st.integers(-1, 2**62))
def test_damaged_batch_does_no_harm(batches: list[bytes], version: int, time: int) -> None:
    log = PartitionLog(Memory(1_048_576))
    for data in batches:
        before = log.end_offset
        with suppress(ApiError):
            batch = read_batch(data, version)
            check_batch(batch)
            check_records(batch, Inspection())
            log.append(batch)
        assert log.end_offset >= before

    found = log.read(0, 1_000_000, committed=False, at_least_one=True)
    assert bool(found.data) is (log.end_offset > 0)
    for each in (log.find_time(time), log.find_largest_time()):
        assert each is None or each.offset >= 0
