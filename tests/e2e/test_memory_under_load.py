"""The memory of the test broker under minutes of load: DOORKEEPER_LOAD_MINUTES, by default ten."""

from __future__ import annotations

import os
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from doorkeeper.testing import DoorkeeperProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

MINUTES = float(os.environ.get("DOORKEEPER_LOAD_MINUTES", "10"))
LIMIT = 64 * 1024 * 1024
OVERHEAD = 24 * 1024 * 1024
"""For requests under way, the last segments, and what the allocator keeps."""
ROUNDS_MIN = 4
"""How many times the limit is written at least, however slow the machine is."""
TOPIC, PARTITIONS = "load", 4
VALUES = [os.urandom(size) for size in (10, 100, 1000, 1000, 20_000)]
BATCH = 500


def resident_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    (line,) = (each for each in status.splitlines() if each.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


class Reader:
    """A member of a group that reads all the time."""

    def __init__(self, bootstrap: str) -> None:
        self.count = 0
        self._ended = threading.Event()
        self._bootstrap = bootstrap
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._thread.join()

    def _read(self) -> None:
        settings = {"bootstrap_servers": self._bootstrap, "auto_offset_reset": "earliest"}
        with closing(KafkaConsumer(TOPIC, group_id="readers", **settings)) as consumer:
            while not self._ended.is_set():
                self.count += sum(map(len, consumer.poll(timeout_ms=500).values()))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_memory_stays_below_its_limit() -> None:
    """The oldest segments are dropped; what is left is one piece up to the end."""
    with DoorkeeperProcess(
        topics={TOPIC: PARTITIONS},
        records=True,
        properties={"doorkeeper.test.broker.memory.bytes": str(LIMIT)},
    ) as server:
        bootstrap = server.bootstrap_servers
        with (
            closing(Reader(bootstrap)) as reader,
            closing(KafkaProducer(bootstrap_servers=bootstrap, linger_ms=5)) as producer,
        ):
            for _ in range(BATCH):
                producer.send(TOPIC, b"warm")
            producer.flush()
            at_first = peak = resident_bytes(server.pid)
            until = time.monotonic() + 60 * MINUTES
            written = sent = 0
            while time.monotonic() < until or written < ROUNDS_MIN * LIMIT:
                for number in range(BATCH):
                    value = VALUES[number % len(VALUES)]
                    producer.send(TOPIC, value, partition=number % PARTITIONS)
                    written += len(value)
                producer.flush()
                sent += BATCH
                peak = max(peak, resident_bytes(server.pid))

        parts = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
        with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
            begins, ends = consumer.beginning_offsets(parts), consumer.end_offsets(parts)
            consumer.assign(parts)
            consumer.seek_to_beginning()
            left = {part: [*range(begins[part], ends[part])] for part in parts}
            read: dict[TopicPartition, list[int]] = {part: [] for part in parts}
            while any(consumer.position(part) < ends[part] for part in parts):
                for part, messages in consumer.poll(timeout_ms=500).items():
                    read[part] += [each.offset for each in messages]

    assert sum(ends.values()) == sent + BATCH
    assert all(begins.values()), begins
    assert read == left
    assert reader.count > 0
    assert peak - at_first < LIMIT + OVERHEAD, f"{written} bytes, {sent} records"
