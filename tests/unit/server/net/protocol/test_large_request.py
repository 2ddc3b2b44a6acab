"""What a thread frees in slices after a large request."""

from __future__ import annotations

import pytest

from doorkeeper.base.slices import SLICE_ITEMS
from doorkeeper.server.api.unserved import Refusal
from doorkeeper.server.net.protocol.large_request import arrays_of
from doorkeeper_wire.messages.metadata import MetadataRequest, MetadataRequestTopic

LONG = SLICE_ITEMS + 1
TOPICS = tuple(MetadataRequestTopic(name=f"t{number}") for number in range(LONG))


@pytest.mark.parametrize(
    ("message", "lengths"),
    [
        (MetadataRequest(topics=TOPICS), [LONG]),
        (MetadataRequest(topics=TOPICS[:-1]), []),
        ({"topics": [{"name": "t"}] * LONG}, [LONG]),
        (Refusal("X", {"topics": [{"partitions": [1] * LONG}, {"partitions": [1]}]}, 35), [LONG]),
    ],
    ids=["struct", "short", "dictionary", "inside another"],
)
def test_long_arrays_are_found(message: object, lengths: list[int]) -> None:
    """In a struct, and in the dictionaries of an API that is refused."""
    arrays = list(arrays_of(message))

    assert [len(array) for array in arrays] == lengths
