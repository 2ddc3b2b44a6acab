"""Topics, users and quotas in files."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from doorkeeper.acls.entities.model import (
    Credential,
    Entity,
    EntityName,
    EntityScope,
    OwnedName,
    Quota,
    TopicEntity,
)
from doorkeeper.acls.formats.entities import entity_of_record, record_of_entity, records_of_entities
from doorkeeper.acls.formats.names import FormatError
from doorkeeper.acls.formats.records import read_yaml, write_json, write_yaml

FILE = """
version: 1
vars: {team: pay}
owns:
  - {prefixes: [pay-]}
  - topics: [audit, {name: "${team}-", patternType: prefixed}]
    quotas: {users: pay-app, ips: <default>}
topics:
  - {name: "${team}-orders", partitions: 6, configs: {retention.ms: 5, preallocate: true, a: 0.50}}
users:
  - {name: pay-app, mechanism: [SCRAM-SHA-256, SCRAM-SHA-512], password: "${env:PAY}"}
quotas:
  - {user: pay-app, clientId: <default>, producer_byte_rate: 10, request_percentage: 1.5}
  - {ip: <default>, connection_creation_rate: 7}
"""
USER = (("user", "pay-app"), ("client-id", None))
ENTITIES: list[Entity] = [
    TopicEntity(
        "pay-orders", 6, None, (("a", "0.5"), ("preallocate", "true"), ("retention.ms", "5"))
    ),
    Credential("pay-app", "SCRAM-SHA-256", None, "${env:PAY}"),
    Credential("pay-app", "SCRAM-SHA-512", None, "${env:PAY}"),
    Quota(USER, "producer_byte_rate", 10.0),
    Quota(USER, "request_percentage", 1.5),
    Quota((("ip", None),), "connection_creation_rate", 7.0),
]


NAMED = {"name": "a", "mechanism": ["SCRAM-SHA-256", "SCRAM-SHA-512"], "password": "${env:A}"}


def refusal(**sections: Any) -> str:
    """Return the error of a file with sections."""
    with pytest.raises(FormatError) as error:
        read_yaml(json.dumps({"version": 1, **sections}, indent=1))
    return str(error.value)


def test_entities_are_read_from_file() -> None:
    found = read_yaml(FILE)

    assert list(found.entities.entities) == ENTITIES
    assert found.entities.owned == (
        OwnedName(EntityName(EntityScope.TOPIC, "audit"), path=("owns", 1)),
        OwnedName(EntityName(EntityScope.TOPIC, "pay-"), is_prefix=True, path=("owns", 1)),
        OwnedName(EntityName(EntityScope.QUOTA_USER, "pay-app"), path=("owns", 1)),
        OwnedName(EntityName(EntityScope.QUOTA_IP, None), path=("owns", 1)),
    )
    assert [each.selector.prefixes for each in found.owned] == [("pay-",)]


@pytest.mark.parametrize("write", [write_yaml, write_json])
def test_written_entities_are_read_back(write: Any) -> None:
    sections = records_of_entities(ENTITIES)

    assert len(sections["quotas"]) == 2
    assert list(read_yaml(write([], sections=sections)).entities.entities) == ENTITIES


def test_entity_in_a_plan_may_omit_its_password() -> None:
    present = Credential("a", "SCRAM-SHA-256", 4096)

    assert entity_of_record(*record_of_entity(present)) == present
    with pytest.raises(
        FormatError, match=r"users: found .*; expected: a mapping that describes one entity"
    ):
        entity_of_record("users", NAMED)


@pytest.mark.parametrize("password", ["top-secret", "${PAY}", "x${env:A}", "${env:}", "", 7, None])
def test_password_must_be_a_reference(password: object) -> None:
    text = refusal(users=[{"name": "a", "mechanism": "SCRAM-SHA-256", "password": password}])

    assert re.match(r"line \d+: user 1: password: found [a-zA-Z]+; expected: a reference", text)
    assert "top-secret" not in text


@pytest.mark.parametrize(
    ("sections", "text"),
    [
        ({"topics": {}}, "topics: found {}; expected: a list of mappings"),
        ({"topics": [{"name": "a b"}]}, "topic 1: name: found 'a b'; allowed: up to 249"),
        ({"topics": [{"nam": "a"}]}, "unknown: nam; allowed: name, partitions"),
        ({"topics": [{"name": "a", "partitions": 0}]}, "partitions: found 0; expected: a whole"),
        ({"topics": [{"name": "a", "configs": {"b": None}}]}, "configs: b: found None; expected"),
        ({"topics": [{"name": "a"}, {"name": "a"}]}, "topic 2: topic 'a' occurs twice"),
        ({"users": [{"name": "a"}]}, "user 1: missing: mechanism, password"),
        ({"quotas": [{"user": "a"}]}, "found no limit; allowed for user: producer_byte_rate"),
        (
            {"quotas": [{"producer_byte_rate": 1}]},
            "found no client; expected: user; clientId; user and clientId; or ip",
        ),
        ({"quotas": [{"ip": "a", "producer_byte_rate": 1}]}, "allowed for ip: connection_creation"),
        ({"quotas": [{"user": "a", "producer_byte_rate": -1}]}, "found -1; expected: a number"),
        ({"quotas": [{"user": "a", "producer_byte_rate": 10**400}]}, "expected: a number greater"),
        ({"users": [{**NAMED, "mechanism": [], "password": "${env:A}"}]}, "mechanism: found []"),
        ({"owns": {"topics": "a", "prefixes": "b"}, "acls": []}, "owns: unknown: prefixes"),
        ({"owns": {"topics": ""}, "acls": []}, "owns: topics: found ''; expected: a name"),
        (
            {"owns": {"quotas": {}}, "acls": []},
            "owns: quotas: found {}; expected: a mapping with users",
        ),
        ({"owns": {"quotas": {"user": "a"}}, "acls": []}, "unknown: user; allowed: users"),
        ({"owns": {"users": {"name": "a", "patternType": "ANY"}}, "acls": []}, "found 'ANY'; all"),
        ({"vars": {"v": ""}, "owns": {"users": "${v}"}, "acls": []}, "${v}: found an empty name"),
        ({"topics": ["a"]}, "topic 1: found 'a'; expected: a mapping with the keys name"),
        ({"topics": [{"name": 7}]}, "topic 1: name: found 7; expected: a string"),
        (
            {"topics": [{"name": "a", "configs": []}]},
            "configs: found []; expected: a mapping of configuration keys",
        ),
        ({"topics": [{"name": "a", "configs": {"": 1}}]}, "configs: found ''; expected: the"),
        (
            {"users": [{**NAMED, "name": "\u00fc"}]},
            "name: found 'ü'; allowed: ASCII characters, for a SCRAM user",
        ),
    ],
)
def test_malformed_entities_are_rejected(sections: dict[str, Any], text: str) -> None:
    found = refusal(**sections)

    assert text in found
    assert found.startswith("line ")
