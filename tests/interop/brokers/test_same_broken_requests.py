"""Requests with damaged bytes: the same answer, or the connection ends on both sides."""

import random
from itertools import islice

import pytest

from testkit.broken_requests import broken_conversations
from testkit.pairs import Pair

QUICK = 1000


@pytest.mark.parametrize("count", [QUICK, pytest.param(30_000, marks=pytest.mark.slow)])
def test_damaged_requests_are_handled_alike(pair: Pair, count: int) -> None:
    pair.clear(("t-one",))
    seed = 1 if count == QUICK else random.SystemRandom().randrange(10**9)

    differences = pair.talk(list(islice(broken_conversations(seed), count)))

    assert not differences, "\n".join([f"seed {seed}", *differences])
