"""Version 1 JSON of old brokers."""

from __future__ import annotations

import json

import pytest

from doorkeeper.acls.formats.choosing import Format, format_of, read, write
from doorkeeper.acls.formats.names import FormatError
from testkit.acl import PREFIXED, READ, allow, group, topic


def test_zookeeper_nodes_are_read() -> None:
    node = {
        "version": 1,
        "acls": [
            {"principal": "User:alice", "permissionType": "Allow", "operation": "Read", "host": "*"}
        ],
    }
    text = json.dumps(
        {
            "/kafka-acl/Topic/a%2Fb": node,
            "/kafka-acl-extended/prefixed/Topic/ord": json.dumps(node),
            "Group:g": node,
        }
    )

    assert format_of(text) is Format.ZNODES
    assert read(text) == [
        allow("alice", READ, topic("a/b")),
        allow("alice", READ, topic("ord", PREFIXED)),
        allow("alice", READ, group("g")),
    ]
    with pytest.raises(FormatError, match="cannot write the format znodes; allowed: yaml, json"):
        write([], Format.ZNODES)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "found []; expected: an object that maps znode paths"),
        ({"orders": {}}, "'orders': expected a path such as /kafka-acl/Topic/orders"),
        (
            {"Topic:a": {"version": 2}},
            'found {\'version\': 2}; expected: {"version": 1, "acls": [...]}',
        ),
        ({"Topic:a": {"version": 1, "acls": {}}}, "'Topic:a': acls: found {}; expected: a list"),
        ({"Topic:a": {"version": 1, "acls": [7]}}, "'Topic:a': found an ACL that is not an object"),
        (
            {"Topic:a": {"version": 1, "acls": [{"host": 7}]}},
            "'Topic:a': an ACL requires principal",
        ),
    ],
)
def test_invalid_zookeeper_nodes_are_rejected(document: object, said: str) -> None:
    with pytest.raises(FormatError) as refused:
        read(json.dumps(document), Format.ZNODES)

    assert said in str(refused.value)
