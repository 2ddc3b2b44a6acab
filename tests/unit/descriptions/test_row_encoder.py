"""Rows of DescribeAcls as bytes."""

from __future__ import annotations

import pytest

from doorkeeper.api.codes import resource_rows
from doorkeeper.descriptions.row_encoder import RowEncoder
from doorkeeper.runtime.slices import SLICE_ITEMS, run_to_end
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.acl import PREFIXED, READ, allow, deny, topic


@pytest.mark.parametrize("version", [0, 1, 2, 3])
@pytest.mark.parametrize("acls", [1, 2, SLICE_ITEMS, SLICE_ITEMS + 1, 3 * SLICE_ITEMS + 1])
def test_rows_make_an_answer(version: int, acls: int) -> None:
    """Put together they are what the message itself is encoded to, however many ACLs a row has."""
    kinds = [topic("a"), topic("ü" * 100), topic("b", PREFIXED)][: 3 if version else 2]
    rows = [[deny(f"user-{number}", READ, each) for number in range(acls)] for each in kinds]
    whole = resource_rows([binding for row in rows for binding in row])
    encoder = RowEncoder(version)

    encoded = [run_to_end(encoder.row(row)) for row in sorted(rows)]

    message = DescribeAclsResponse(error_message="", resources=whole)
    assert run_to_end(encoder.body(len(rows), encoded)) == message.encode(version)
    assert run_to_end(encoder.body(len(rows), [b"".join(encoded)])) == message.encode(version)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_an_answer_without_rows(version: int) -> None:
    """It is encoded like any other."""
    empty = DescribeAclsResponse(error_message="").encode(version)

    assert run_to_end(RowEncoder(version).body(0, [])) == empty


def test_it_stops_when_much_has_been_encoded() -> None:
    """Behind some dozens of short rows, and within a long one."""
    encoder = RowEncoder(3)
    short = [allow("alice", READ, topic("t"))]
    long = [allow(f"user-{number}", READ, topic("t")) for number in range(10 * SLICE_ITEMS)]

    assert 2 < sum(1 for _ in range(4 * SLICE_ITEMS) for _ in encoder.row(short)) < SLICE_ITEMS
    assert sum(1 for _ in encoder.row(long)) >= 10
