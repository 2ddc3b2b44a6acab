"""The JSON schema of files of ACLs."""

from __future__ import annotations

import json
import re
from textwrap import dedent
from typing import Any

import jsonschema
import pytest
import yaml

from doorkeeper.acls.formats.built_in_roles import BUILT_IN
from doorkeeper.acls.formats.records import MEMBERS, read_yaml, write_json
from doorkeeper.acls.formats.schema import schema
from testkit.acl import READ, allow, topic
from testkit.checkout import ROOT

ACL = {"resourceType": "TOPIC", "name": "t", "principal": "User:a", "operation": "READ"}
SET: dict[str, Any] = {"version": 1, "acls": [ACL]}
USER = {"name": "a", "mechanism": ["SCRAM-SHA-512"], "password": "${file:/run/secrets/a}"}
ROLE = {
    "parameters": ["a"],
    "acls": [{"resourceType": "TOPIC", "name": "${a}", "operation": "READ"}],
}


def is_valid(document: object) -> bool:
    return bool(jsonschema.Draft202012Validator(schema()).is_valid(document))


def test_the_published_schema_is_this_one() -> None:
    """Written by ``doorkeeper acls schema > schemas/records/acl_set.json``."""
    published = json.loads((ROOT / "schemas" / "records" / "acl_set.json").read_text("utf-8"))

    assert published == schema()
    jsonschema.Draft202012Validator.check_schema(published)
    assert set(published["properties"]) == set(MEMBERS)


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("teams*/*.yaml")), ids=str)
def test_the_examples_are_valid(file: Any) -> None:
    """And so is what is written."""
    assert is_valid(yaml.safe_load(file.read_text("utf-8")))
    assert is_valid(json.loads(write_json([allow("a", READ, topic("t"))])))


@pytest.mark.parametrize(
    "document",
    [
        SET,
        {**SET, "owns": {"prefixes": "a"}},
        {**SET, "owns": [{"principals": ["User:a"]}, {"resourceTypes": ["TOPIC"]}]},
        {**SET, "owns": [{"topics": ["a", {"name": "b-", "patternType": "PREFIXED"}]},
                         {"users": "a", "quotas": {"users": "a", "ips": "<default>"}}]},
        {**SET, "topics": [{"name": "a", "partitions": 1, "configs": {"retention.ms": 1}}]},
        {**SET, "users": [USER]},
        {**SET, "quotas": [{"user": "a", "clientId": "b", "request_percentage": 0.5}]},
        {"version": 1, "roles": {"r": ROLE}, "grants": [{"role": "r", "principal": "User:a",
                                                         "a": "t"}]},
        *(
            {"version": 1, "grants": [{"role": name, "principal": "User:a",
                                       **dict.fromkeys(BUILT_IN[name].parameters, "x")}]}
            for name in BUILT_IN
        ),
    ],
)  # fmt: skip
def test_what_is_valid_is_read(document: object) -> None:
    """The schema accepts nothing that the reader refuses, as far as these go."""
    assert is_valid(document)
    assert read_yaml(json.dumps(document)).bindings


@pytest.mark.parametrize(
    "document",
    [
        {"version": 2, "acls": []},
        {**SET, "more": 1},
        {**SET, "owns": {}},
        {**SET, "owns": {"prefix": "a"}},
        {**SET, "vars": {"a": 1}},
        {"version": 1, "acls": [{**ACL, "resourceType": "TOPICS"}]},
        {"version": 1, "grants": [{"role": "producer", "principal": "User:a"}]},
        {**SET, "owns": {"quotas": {}}},
        {**SET, "topics": [{"name": "a b"}]},
        {**SET, "topics": [{"name": "a", "partitions": 0}]},
        {**SET, "users": [{**USER, "password": "secret"}]},
        {**SET, "users": [{**USER, "mechanism": "PLAIN"}]},
        {**SET, "quotas": [{"user": "a"}]},
        {**SET, "quotas": [{"user": "a", "producer_byte_rate": 0}]},
    ],
)
def test_what_is_invalid_is_refused(document: object) -> None:
    """By both, the schema and the reader."""
    assert not is_valid(document)
    with pytest.raises(ValueError, match=r"line|acls: expected"):
        read_yaml(json.dumps(document, indent=1))


@pytest.mark.parametrize(("page", "count"), [("acl-sets.md", 2), ("topics-users-quotas.md", 1)])
def test_the_files_of_the_pages_are_read(page: str, count: int) -> None:
    """Each block of YAML is a valid file of ACLs."""
    text = (ROOT / "docs" / "how-to" / page).read_text("utf-8")
    blocks = re.findall(r"(?ms)^ *```yaml[^\n]*\n(.*?)^ *```$", text)

    assert len(blocks) == count
    for block in map(dedent, blocks):
        assert is_valid(yaml.safe_load(block))
        assert read_yaml(block).bindings
