"""Produce: what a broker refuses of batches that can be read."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper_broker.produce import Producing
from doorkeeper_broker.records import Records
from doorkeeper_wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from testkit.batches import batch_bytes
from testkit.nodes import a_topic, answer, node_of


def no_transactions(*_: Any, **__: Any) -> None:
    raise AssertionError("the batch is not transactional")


async def refusal(configs: dict[str, str], data: bytes) -> tuple[int, str | None]:
    """Return error and text of a batch for a topic with these configurations."""
    node = await node_of(topics=[a_topic("t", configs=configs)])
    api = Producing(Records(1_000_000), no_transactions).api()
    partition = PartitionProduceData(index=0, records=data)
    topic = TopicProduceData(name="t", partition_data=(partition,))
    request = ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=(topic,))
    ((row,),) = (each.partition_responses for each in answer(api, request, node, 9).responses)
    return row.error_code, row.error_message


@pytest.mark.parametrize("attributes", [0, 1])
async def test_records_of_compacted_topics_need_keys(attributes: int) -> None:
    """Without one the batch is 87, compressed or not."""
    data = batch_bytes(b"a", b"b", attributes=attributes)
    code, text = await refusal({"cleanup.policy": "compact,delete"}, data)

    assert code == 87
    assert text is not None
    assert "2 record errors" in text
    assert "Compacted topic cannot accept message without key in topic partition t-0." in text
    assert await refusal({}, data) == (0, None)


async def test_oversized_batch_has_no_error_text() -> None:
    data = batch_bytes(b"a" * 100)
    assert await refusal({"max.message.bytes": "100"}, data) == (10, None)


async def test_partition_that_is_named_twice_is_appended_once() -> None:
    """A broker keeps them in a map: the last one counts, and a topic has one row."""
    node = await node_of(topics=[a_topic("t", 2)])
    records = Records(1_000_000)
    first, second, other = (
        PartitionProduceData(index=index, records=batch_bytes(value))
        for index, value in ((0, b"first"), (0, b"second"), (1, b"other"))
    )
    rows = [(first, other), (second,)]
    topics = tuple(TopicProduceData(name="t", partition_data=each) for each in rows)
    request = ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=topics)

    (found,) = answer(Producing(records, no_transactions).api(), request, node, 9).responses

    assert [(row.index, row.error_code) for row in found.partition_responses] == [(0, 0), (1, 0)]
    topic = node.topics.get("t")
    assert topic is not None
    log = records.log_of(topic, 0)
    assert log.end_offset == 1
    assert b"second" in log.read(0, 1_000, committed=False, at_least_one=True).data
