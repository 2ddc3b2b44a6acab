"""Which requests a thread handles, and what it frees in slices afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.base.slices import SLICE_ITEMS
from doorkeeper.server.api.registry import APIS
from doorkeeper.server.api.unserved import Refusal
from doorkeeper.server.net.protocol.large_request import LargeRequest
from doorkeeper.server.net.protocol.responses import arrays_of
from doorkeeper_wire.messages.describe_delegation_token import DescribeDelegationTokenRequest
from doorkeeper_wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
)
from doorkeeper_wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from testkit.deliveries import one
from testkit.edge import connection, request

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


@pytest.mark.parametrize(
    ("asked", "version"),
    [
        (DescribeDelegationTokenRequest(owners=None), 3),
        (DescribeUserScramCredentialsRequest(users=None), 0),
    ],
)
def test_all_tokens_or_users_are_described_in_a_thread(asked: Any, version: int) -> None:
    """However small the request: 4,000 tokens of others took two seconds of the loop."""
    to = connection(apis=APIS)

    assert isinstance(one(to, request(asked, version)), LargeRequest)
