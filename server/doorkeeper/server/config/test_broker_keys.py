"""The keys of the test broker."""

from __future__ import annotations

from typing import Final

from doorkeeper.base.key import Key
from doorkeeper.base.values import KeyType, at_least

TEST_BROKER: Final = (
    Key(
        name="doorkeeper.test.broker",
        type=KeyType.BOOLEAN,
        default="false",
        doc=(
            "Whether producers, consumers and their groups are served, for tests: records are in"
            " memory and in no other place, and are lost when the server stops. Not with a shared"
            " store."
        ),
        importance="LOW",
    ),
    Key(
        name="doorkeeper.test.broker.memory.bytes",
        type=KeyType.LONG,
        default="268435456",
        doc=(
            "The memory for the records of all topics. Beyond it the oldest segments are dropped,"
            " of whichever topic."
        ),
        importance="LOW",
        check=at_least(1_048_576),
    ),
)
