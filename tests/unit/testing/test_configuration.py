"""From what a test asks for to keys and a first state."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.base.entry import Entry
from doorkeeper.server.config.loading import resolve
from doorkeeper.server.config.settings import DynamicValues
from doorkeeper.server.schema.declared import ACL, CREDENTIAL, TOPIC
from doorkeeper.testing.configuration import (
    Configuration,
    configuration_of,
    credentials_of,
    initial_change,
    keys_of,
)
from testkit.stores import binding


def keys(**options: Any) -> dict[str, str]:
    return keys_of(configuration_of(options), tls={})  # type: ignore[arg-type]


def made(**options: Any) -> Configuration:
    return configuration_of(options)  # type: ignore[arg-type]


def test_without_users_everyone_is_a_super_user() -> None:
    found = keys()

    assert found["listeners"] == "PLAINTEXT://127.0.0.1:0"
    assert found["super.users"] == "User:ANONYMOUS"
    assert found["allow.everyone.if.no.acl.found"] == "false"
    assert "sasl.enabled.mechanisms" not in found


def test_users_enable_sasl_and_an_administrator() -> None:
    given = made(users={"alice": "pw"})

    assert given.listeners == ("SASL_PLAINTEXT",)
    assert given.users == {"admin": "admin-secret", "alice": "pw"}
    assert given.super_users == ("User:admin",)
    assert made(users={"admin": "mine"}).users == {"admin": "mine"}


def test_each_listener_has_its_administrator() -> None:
    """The super users are those of the listeners that there are, unless others are named."""
    all_of_them = ("SASL_SSL", "MTLS", "PLAINTEXT", "SSL")

    assert made(listeners=all_of_them).super_users == (
        "User:admin",
        "User:CN=admin",
        "User:ANONYMOUS",
    )
    assert made(super_users=["User:root"]).super_users == ("User:root",)
    assert made(super_users=[]).super_users == ()


def test_any_password_is_configured() -> None:
    users = {"alice": 'a "quoted" \\ one', "o'neil, bob": "\u00e9", "x.y": "p;=q"}
    entries = [Entry(key, value, "") for key, value in keys(users=users).items()]

    (listener,) = resolve(entries, DynamicValues()).listeners

    plain = next(each for each in listener.mechanisms if each.name == "PLAIN")
    assert plain.login_module is not None
    known = {name.removeprefix("user_"): pw for name, pw in plain.login_module.options.items()}
    assert known == {"admin": "admin-secret", **users}


def test_properties_override_other_options() -> None:
    found = keys(properties={"num.partitions": "7", "super.users": "User:x"})

    assert (found["num.partitions"], found["super.users"]) == ("7", "User:x")


def test_initial_store_contents() -> None:
    own = binding(1).binding
    given = made(
        users={"alice": "pw"},
        acls=[own, own],
        topics={"a": 3, "b": {"partitions": 2, "configs": {"retention.ms": 5}}},
    )

    change = initial_change(given, credentials_of(given))

    assert [row.binding for row in change[ACL].set] == [own]
    topics = [(row.name, row.partitions, row.configs) for row in change[TOPIC].set]
    assert topics == [("a", 3, {}), ("b", 2, {"retention.ms": "5"})]
    assert {CREDENTIAL.key_of(row) for row in change[CREDENTIAL].set} == {
        (user, mechanism)
        for user in ("admin", "alice")
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
    }


def test_topics_may_be_names() -> None:
    """A bare name is an entry with nothing but its name."""
    given = made(topics=["a", {"name": "b", "partitions": 2}])

    assert given.topics == ({"name": "a"}, {"name": "b", "partitions": 2})


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"listeners": ["TLS"]}, "listener: found 'TLS'; allowed: PLAINTEXT"),
        ({"listeners": ["SSL", "SSL"]}, "one or more, each once"),
        ({"mechanisms": "GSSAPI"}, "mechanism: found 'GSSAPI'; allowed: PLAIN"),
        ({"users": {"a": "b"}, "listeners": "SSL"}, "users cannot log in: found only SSL"),
        ({"topics": ["a b"]}, "topic 1: name: found 'a b'; allowed: up to 249 letters"),
        ({"topics": ["a.b", "a_b"]}, "topic a_b: collides with a.b"),
        ({"topics": [{"name": "a", "configs": {"x": 1}}]}, "Unknown topic config name: x"),
        ({"topics": "orders"}, r"topics: found 'orders'; expected: a list, as \['orders'\]"),
    ],
)
def test_invalid_options_are_rejected(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        made(**options)


def test_repr_hides_secrets() -> None:
    assert "pw-of-alice" not in repr(made(users={"alice": "pw-of-alice"}))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"properties": {"num.partitions": 3}}, "properties: 'num.partitions': expected strings"),
        ({"properties": {"a": None}}, "found: NoneType"),
        ({"properties": {3: "a"}}, "properties: 3: expected strings"),
        ({"properties": ["a=b"]}, "properties: found a list; allowed: values by key"),
        ({"records": "false"}, "records: found 'false'; allowed: True, False"),
        ({"learn": 1}, "learn: found 1; allowed: True, False"),
        ({"allow_everyone": "no"}, "allow_everyone: found 'no'; allowed: True, False"),
        ({"topics": {"a": 20_000_000}}, "topic a: found 20000000 partitions; allowed: 1 to 10000"),
    ],
)
def test_values_of_other_types_are_rejected(options: dict[str, Any], text: str) -> None:
    """A text switches everything on; a number has no other place to fail than in the server."""
    with pytest.raises(ValueError, match=text):
        made(**options)
