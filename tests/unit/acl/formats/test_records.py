"""YAML and JSON of our own."""

from __future__ import annotations

import json

from doorkeeper.acl.formats import records
from doorkeeper.acl.model import AclOperation, ResourceType
from testkit.acl import READ, allow, topic
from testkit.checkout import ROOT


def test_the_schema_says_what_is_read() -> None:
    """schemas/records/acl_set.json has the same words, needed ones and codes."""
    schema = json.loads((ROOT / "schemas" / "records" / "acl_set.json").read_text("utf-8"))
    acl = schema["properties"]["acls"]["items"]

    assert acl["required"] == list(records.NEEDED)
    assert {word: acl["properties"][word]["default"] for word in records.DEFAULTS} == (
        records.DEFAULTS
    )
    assert acl["properties"].keys() == {*records.NEEDED, *records.DEFAULTS}
    assert schema["$defs"]["operation"]["enum"] == [each.name for each in AclOperation if each > 1]
    assert acl["properties"]["resourceType"]["enum"] == [
        each.name for each in ResourceType if each > 1
    ]


def test_people_write_less_than_we_do() -> None:
    """Defaults may be left out, and operations stand together."""
    text = (
        "version: 1\nacls:\n"
        "- {resourceType: topic, name: orders, principal: 'User:alice', operation: [Read, WRITE]}\n"
    )

    assert records.read_yaml(text) == [
        allow("alice", READ, topic("orders")),
        allow("alice", AclOperation.WRITE, topic("orders")),
    ]
