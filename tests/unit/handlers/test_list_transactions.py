"""ListTransactions: an empty list, unknown states, expressions."""

from __future__ import annotations

import pytest

from doorkeeper.handlers.list_transactions import API
from doorkeeper_wire.messages.list_transactions import ListTransactionsRequest
from testkit.nodes import answer, node_of


async def test_unknown_states_are_told() -> None:
    """Each once; the case of letters counts, and nobody needs a right."""
    request = ListTransactionsRequest(state_filters=("Ongoing", "ongoing", "x", "x", "Dead"))

    found = answer(API, request, await node_of(), 0, user="nobody")

    assert (found.error_code, found.transaction_states) == (0, ())
    assert found.unknown_state_filters == ("ongoing", "x")


@pytest.mark.parametrize(
    ("pattern", "code"), [(None, 0), ("", 0), ("a.*", 0), ("(", 128), ("a" + "(" * 9_999, 128)]
)
async def test_expressions(pattern: str | None, code: int) -> None:
    """What is none is refused."""
    request = ListTransactionsRequest(transactional_id_pattern=pattern)

    assert answer(API, request, await node_of(), 2).error_code == code
