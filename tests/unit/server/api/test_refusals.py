"""Refusals of whole requests, row by row."""

from __future__ import annotations

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api.declaration import refusal_of
from doorkeeper_wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from testkit.counted import counted_calls


def test_further_row_costs_few_calls() -> None:
    """One request names 100,000 rows."""

    def refused(count: int) -> int:
        partitions = tuple(DeleteRecordsPartition(partition_index=n) for n in range(count))
        topic = DeleteRecordsTopic(name="a", partitions=partitions)
        request = DeleteRecordsRequest(topics=(topic,))
        with counted_calls() as calls:
            refusal_of(DeleteRecordsResponse, request, ErrorCode.INVALID_REQUEST, low_watermark=-1)
        return calls.count

    refused(1)

    assert (refused(1001) - refused(1)) / 1000 < 15
