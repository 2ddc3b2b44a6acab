"""YAML and JSON of our own."""

from __future__ import annotations

import pytest

from doorkeeper.acls.formats import records
from doorkeeper.acls.formats.names import FormatError
from doorkeeper.acls.model import AclOperation
from testkit.acl import READ, allow, topic


def test_omitted_fields_have_defaults() -> None:
    text = (
        "version: 1\nacls:\n"
        "- {resourceType: topic, name: orders, principal: 'User:alice', operation: [Read, WRITE]}\n"
    )

    assert records.read_yaml(text).bindings == [
        allow("alice", READ, topic("orders")),
        allow("alice", AclOperation.WRITE, topic("orders")),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "version: 1\nacls:\n- {name: a}\nacls:\n- {name: b}\n",
        "version: 1\nacls:\n- resourceType: TOPIC\n  acls: 1\n  acls: 1\n",
        'version: 1\nacls:\n- {"acls": 1, "acls": 2}\n',
    ],
)
def test_duplicate_yaml_key_is_rejected(text: str) -> None:
    with pytest.raises(FormatError, match=r"line \d: not YAML: duplicate key 'acls' in a mapping"):
        records.read_yaml(text)


def test_yaml_merge_keys_are_applied() -> None:
    text = (
        "version: 1\nacls:\n"
        "- &a {resourceType: TOPIC, name: a, principal: 'User:a', operation: READ}\n"
        "- {<<: *a, name: b}\n"
    )

    assert [each.pattern.name for each in records.read_yaml(text).bindings] == ["a", "b"]


@pytest.mark.parametrize("text", ["[" * 100_000, "- " * 100_000 + "a", "{a: " * 50_000])
def test_deeply_nested_yaml_is_rejected(text: str) -> None:
    with pytest.raises(FormatError, match="line 1: not YAML: nested too deeply"):
        records.read_yaml(text)
