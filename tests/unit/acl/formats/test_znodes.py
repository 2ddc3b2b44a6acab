"""Version 1 JSON of old brokers."""

from __future__ import annotations

import json

import pytest

from doorkeeper.acl.formats.choosing import Format, format_of, read, write
from doorkeeper.acl.formats.names import FormatError
from testkit.acl import PREFIXED, READ, allow, group, topic


def test_what_old_brokers_kept() -> None:
    """Nodes of ZooKeeper by their paths, as objects or as texts; they are not written."""
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
    with pytest.raises(FormatError, match="znodes is read, not written; written are yaml, json"):
        write([], Format.ZNODES)
