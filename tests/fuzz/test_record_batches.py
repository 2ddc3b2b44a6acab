"""Record batches with any damage, over the wire to a test broker: they do no harm.

Each is answered: with one of the errors of a broker, or it is appended. Then the log can be read
from its beginning to its end, record batch by record batch as they were sent, the searches by time
end, and the server's memory is below its limit.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from crc32c import crc32c

from doorkeeper.base.errors import ErrorCode
from doorkeeper.testing import DoorkeeperProcess
from doorkeeper_wire.messages import fetch, list_offsets, produce
from testkit.batches import batch_bytes
from testkit.frames import Closed, FrameClient
from testkit.wrong_batches import RIGHT, WRONG, with_length, with_sum

if TYPE_CHECKING:
    from collections.abc import Iterator

TOPIC = "fuzzed"
FEW, MANY = 500, 50_000
LIMIT = 4 * 1024 * 1024
OVERHEAD = 48 * 1024 * 1024
"""For requests and what is unpacked of them, and what the allocator keeps."""

SEEDS = (
    *(data for data in (*RIGHT.values(), *WRONG.values()) if len(data) < 2000),
    batch_bytes(*(b"value %d" % number for number in range(50)), times=range(50)),
    batch_bytes(b"one", b"two", producer=(7, 0, 0)),
    batch_bytes(b"one", b"two", producer=(7, 0, 2), attributes=0x10),
)
NUMBERS = (0, 1, 2, -1, -2, 127, 128, 2**15, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))
FIELDS = (
    *((0, 8), (8, 4), (12, 4), (16, 1), (17, 4), (21, 2), (23, 4)),
    *((27, 8), (35, 8), (43, 8), (51, 2), (53, 4), (57, 4)),
)
"""Place and size of each number in a header."""

EXPECTED = {
    ErrorCode.NONE,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.INVALID_RECORD,
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    # Those of producers, where the damage makes a batch one of a producer's or a transaction's.
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.INVALID_TXN_STATE,
}


def damaged(chance: Random) -> bytes:
    """Return a batch with a few changes, often with length and checksum made right again."""
    data = bytearray(chance.choice(SEEDS))
    for _ in range(chance.randint(0, 4)):
        chance.choice((_flip, _set_field, _cut, _insert, _double))(data, chance)
    if len(data) > 21 and chance.random() < 0.7:
        return with_length(bytes(data))
    return with_sum(bytes(data)) if len(data) > 21 and chance.random() < 0.5 else bytes(data)


def _flip(data: bytearray, chance: Random) -> None:
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _set_field(data: bytearray, chance: Random) -> None:
    at, size = chance.choice(FIELDS)
    number = chance.choice(NUMBERS) & ((1 << 8 * size) - 1)
    data[at : at + size] = number.to_bytes(size)


def _cut(data: bytearray, chance: Random) -> None:
    del data[chance.randint(0, len(data)) :]


def _insert(data: bytearray, chance: Random) -> None:
    at = chance.randint(0, len(data))
    data[at:at] = chance.choice((b"\0", b"\xff" * 12, b"\x80", chance.randbytes(30)))


def _double(data: bytearray, chance: Random) -> None:
    data += data[chance.randint(0, len(data)) :]


def request_of(data: bytes | None) -> produce.ProduceRequest:
    part = produce.PartitionProduceData(index=0, records=data)
    return produce.ProduceRequest(
        transactional_id=None,
        acks=-1,
        timeout_ms=1000,
        topic_data=(produce.TopicProduceData(name=TOPIC, partition_data=(part,)),),
    )


def send(client: FrameClient, data: bytes | None, version: int) -> Any:
    """Return what one batch is answered; the connection stays open."""
    answer = client.ask(request_of(data), produce.ProduceResponse, version)
    assert not isinstance(answer, Closed), (version, data)
    return answer.responses[0].partition_responses[0]


def send_damaged_frame(address: str, data: bytes, chance: Random) -> None:
    """Send a request whose sizes are wrong as well: it is answered, or ends its connection."""
    version = chance.randint(3, 12)
    body = bytearray(request_of(data).encode(version))
    # Behind the acknowledgements: a request for none of them is not answered.
    body[chance.randrange(10, len(body))] = chance.choice((0, 1, 127, 128, 255))
    with FrameClient(address) as client:
        client.exchange(produce.ProduceRequest.API_KEY, version, bytes(body))


def offset_of(client: FrameClient, timestamp: int) -> int:
    """Return the offset that a search by time finds; -1 for none. -2 begins, -1 ends the log."""
    part = list_offsets.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    topic = list_offsets.ListOffsetsTopic(name=TOPIC, partitions=(part,))
    request = list_offsets.ListOffsetsRequest(replica_id=-1, isolation_level=0, topics=(topic,))
    answer = client.ask(request, list_offsets.ListOffsetsResponse, 7).topics[0].partitions[0]
    assert answer.error_code == 0
    return int(answer.offset)


def batches(client: FrameClient) -> Iterator[tuple[int, bytes]]:
    """Yield the base offset of each batch of the log, and the batch; check that none is missing."""
    offset, end = offset_of(client, -2), offset_of(client, -1)
    while offset < end:
        part = fetch.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1_000_000)
        topic = fetch.FetchTopic(topic=TOPIC, partitions=(part,))
        request = fetch.FetchRequest(
            max_wait_ms=0, min_bytes=0, max_bytes=1_000_000, topics=(topic,)
        )
        answer = client.ask(request, fetch.FetchResponse, 11).responses[0].partitions[0]
        assert answer.error_code == 0
        data = answer.records
        assert data, f"nothing at {offset} of {end}"
        while data:
            base, size = int.from_bytes(data[:8]), 12 + int.from_bytes(data[8:12])
            batch, data = data[:size], data[size:]
            assert base == offset
            assert int.from_bytes(batch[17:21]) == crc32c(batch[21:])
            yield base, batch
            offset = base + int.from_bytes(batch[23:27]) + 1


def resident_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    (line,) = (each for each in status.splitlines() if each.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize(
    "count", [FEW, pytest.param(MANY, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]
)
def test_damaged_batches_do_no_harm(count: int) -> None:
    chance, codes = Random(count), set()
    sent: dict[int, bytes] = {}
    with (
        DoorkeeperProcess(
            topics={TOPIC: 1},
            records=True,
            properties={"doorkeeper.test.broker.memory.bytes": str(LIMIT)},
        ) as server,
        FrameClient(server.bootstrap_servers) as client,
    ):
        send(client, RIGHT["none"], 9)
        at_first = peak = resident_bytes(server.pid)
        for number in range(count):
            data = damaged(chance)
            if number % 20 == 0:
                send_damaged_frame(server.bootstrap_servers, data, chance)
            answer = send(client, data, chance.randint(3, 12))
            codes.add(ErrorCode(answer.error_code))
            if answer.error_code == 0:
                # One that is taken for a repetition has the offset of the first.
                sent.setdefault(answer.base_offset, data)
            if number % 50 == 0:
                offset_of(client, chance.choice((0, 1000, -3, 2**62)))
                peak = max(peak, resident_bytes(server.pid))
        found = dict(batches(client))

        assert codes <= EXPECTED
        assert {ErrorCode.NONE, ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD} <= codes
        assert len(found) > count // 100
        for base, batch in found.items():
            if base in sent:
                assert batch[16:] == sent[base][16 : len(batch)]
        assert peak - at_first < LIMIT + OVERHEAD
