"""The JSON schema of files of ACLs."""

from __future__ import annotations

import json
import re
from textwrap import dedent
from typing import Any

import jsonschema
import pytest
import yaml

from doorkeeper.acls.entities.model import CLIENT_QUOTAS, IP_QUOTAS
from doorkeeper.acls.formats.built_in_roles import BUILT_IN
from doorkeeper.acls.formats.entities import QUOTA_CLIENTS, SECTIONS, TOPIC_WORDS, USER_WORDS
from doorkeeper.acls.formats.owned_parts import WORDS
from doorkeeper.acls.formats.records import DEFAULTS, MEMBERS, NEEDED, read_yaml, write_json
from doorkeeper.acls.lint import CODES
from doorkeeper.acls.model import AclOperation, ResourceType
from doorkeeper.base.credentials import DIGESTS, ITERATIONS_MAX, ITERATIONS_MIN
from testkit.acl import READ, allow, topic
from testkit.checkout import ROOT

SCHEMA = json.loads((ROOT / "schemas" / "records" / "acl_set.json").read_text("utf-8"))
ACL = {"resourceType": "TOPIC", "name": "t", "principal": "User:a", "operation": "READ"}
SET: dict[str, Any] = {"version": 1, "acls": [ACL]}
USER = {"name": "a", "mechanism": ["SCRAM-SHA-512"], "password": "${file:/run/secrets/a}"}
ROLE = {
    "parameters": ["a"],
    "acls": [{"resourceType": "TOPIC", "name": "${a}", "operation": "READ"}],
}


def is_valid(document: object) -> bool:
    return bool(jsonschema.Draft202012Validator(SCHEMA).is_valid(document))


def test_schema_and_reader_accept_the_same_keys() -> None:
    defined = SCHEMA["$defs"]
    record = SCHEMA["properties"]["acls"]["items"]
    limits = (*CLIENT_QUOTAS, *IP_QUOTAS)
    iterations = defined["users"]["properties"]["iterations"]

    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["properties"]) == set(MEMBERS)
    assert record["required"] == list(NEEDED)
    assert set(record["properties"]) == {*NEEDED, *DEFAULTS}
    assert record["properties"]["resourceType"]["enum"] == [
        kind.name for kind in ResourceType if kind > 1
    ]
    assert defined["operation"]["enum"] == [
        operation.name for operation in AclOperation if operation > 1
    ]
    assert defined["acceptance"]["properties"]["code"]["enum"] == list(CODES)
    assert set(defined["ownedPart"]["properties"]) == set(WORDS)
    assert set(defined["ownedEntities"]["properties"]) == set(SECTIONS)
    assert set(defined["topics"]["properties"]) == set(TOPIC_WORDS)
    assert set(defined["users"]["properties"]) == set(USER_WORDS)
    assert defined["users"]["properties"]["mechanism"]["oneOf"][0]["enum"] == list(DIGESTS)
    assert (iterations["minimum"], iterations["maximum"]) == (ITERATIONS_MIN, ITERATIONS_MAX)
    assert set(defined["quotas"]["properties"]) == {*QUOTA_CLIENTS, *limits}


def test_schema_contains_built_in_roles() -> None:
    published = {
        rule["if"]["properties"]["role"]["const"]: (
            tuple(rule["then"]["required"]),
            tuple(rule["then"]["properties"]),
        )
        for rule in SCHEMA["$defs"]["grant"]["allOf"]
    }

    assert published == {name: (role.required, role.parameters) for name, role in BUILT_IN.items()}


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("teams*/*.yaml")), ids=str)
def test_examples_match_the_schema(file: Any) -> None:
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
def test_reader_accepts_what_the_schema_accepts(document: object) -> None:
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
def test_invalid_files_are_rejected_by_schema_and_reader(document: object) -> None:
    assert not is_valid(document)
    with pytest.raises(ValueError, match=r"line|acls: expected"):
        read_yaml(json.dumps(document, indent=1))


def test_examples_of_the_page_are_read() -> None:
    text = (ROOT / "docs" / "reference" / "acl-files.md").read_text("utf-8")
    blocks = re.findall(r"(?ms)^ *```yaml[^\n]*\n(.*?)^ *```$", text)

    assert len(blocks) == 3
    for block in map(dedent, blocks):
        assert is_valid(yaml.safe_load(block))
        assert read_yaml(block).bindings
