"""Wrong record batches: the test broker answers each as a broker 4.3.1 does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper_wire.messages import produce
from testkit.frame_steps import Step
from testkit.or_skip import or_skip
from testkit.pairs import Pair
from testkit.wrong_batches import COMPRESSED, HEADERS, RECORDS, RIGHT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from testkit.oracle_totals import Totals
    from testkit.side_by_side import Side

TOPIC = "batches"
NOT_OPENED = ("snappy", "lz4", "zstd")
OPENED = {name: data for name, data in COMPRESSED.items() if not name.startswith(NOT_OPENED)}
SAME = {**RIGHT, **HEADERS, **RECORDS, **OPENED}


@pytest.fixture(scope="module")
def pair(totals: Totals) -> Iterator[Pair]:
    """Give a real broker, and a Doorkeeper with the test broker."""
    running = or_skip(lambda: Pair.start(totals, "4.3.1", doorkeeper_test_broker="true"))
    running.clear((TOPIC,))
    yield running
    running.close()


def code(side: Side, data: bytes) -> int:
    """Return the error of one batch, which is answered on a connection that stays open."""
    part = produce.PartitionProduceData(index=0, records=data)
    topic = produce.TopicProduceData(name=TOPIC, partition_data=(part,))
    request = produce.ProduceRequest(
        transactional_id=None, acks=-1, timeout_ms=5000, topic_data=(topic,)
    )
    answer = side.ask(Step(None, request, produce.ProduceResponse, 9))
    found: int = answer["responses"][0]["partition_responses"][0]["error_code"]
    return found


@pytest.mark.parametrize("name", SAME)
def test_same_error(name: str, pair: Pair) -> None:
    """Headers, records, and records behind gzip."""
    assert code(pair.ours, SAME[name]) == code(pair.reference, SAME[name])


@pytest.mark.parametrize("name", [each for each in COMPRESSED if each not in OPENED])
def test_uninspected_compression(name: str, pair: Pair) -> None:
    """Snappy, LZ4 and Zstandard are appended as they are, where a broker looks into them."""
    assert code(pair.ours, COMPRESSED[name]) == 0
