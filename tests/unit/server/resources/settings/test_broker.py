"""Which keys of a broker may change, and what they may become: a broker's codes and texts."""

from __future__ import annotations

import pytest

from doorkeeper.base.errors import ApiError
from doorkeeper.server.resources.settings.broker import alter_values, check_replicas
from doorkeeper.server.resources.settings.operations import Alteration

SET, DELETE, APPEND, SUBTRACT = range(4)
GIVEN = {"max.connections": "5", "log.cleanup.policy": "compact"}
PER_IP = "max.connections.per.ip"
REAUTH = "connections.max.reauth.ms"
STORE = "listener.name.ssl.ssl.keystore.location"


def one(name: str, operation: int, value: str | None, *, of_cluster: bool = False) -> object:
    """Return the values after one alteration, or the code and the text of its refusal."""
    try:
        alterations = [Alteration(name, operation, value)]
        check_replicas(alterations, of_cluster=of_cluster)
        return alter_values(GIVEN, alterations, of_cluster=of_cluster)
    except ApiError as error:
        return int(error.code), error.message


@pytest.mark.parametrize(
    ("name", "operation", "value", "changed"),
    [
        (PER_IP, SET, "7", {PER_IP: "7"}),
        ("max.connections", DELETE, None, {"max.connections": None}),
        (PER_IP, DELETE, None, {}),
        ("node.id", DELETE, None, {}),
        ("log.cleanup.policy", APPEND, "delete", {"log.cleanup.policy": "compact,delete"}),
        ("doorkeeper.log.levels", APPEND, "a=INFO", {"doorkeeper.log.levels": "a=INFO"}),
        ("com.example.key", SET, "x", {"com.example.key": "x"}),
        ("super.users", SET, "User:a", {"super.users": "User:a"}),
        (STORE, SET, "a.p12", {STORE: "a.p12"}),
    ],
)
def test_changeable_keys(
    name: str, operation: int, value: str | None, changed: dict[str, str | None]
) -> None:
    """Kafka's dynamic keys, ours that are marked so, and those that nobody declares."""
    after = {**GIVEN, **changed}

    assert one(name, operation, value) == {k: v for k, v in after.items() if v is not None}


NUMBER = "Not a number of type INT"
TOO_LOW = "Value must be at least 0"
POLICIES = "String must be one of: compact, delete"
SLIP = "unknown key max.conections; did you mean max.connections?"
KEPT = "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."
PREFIXED = (
    "These security configs can be dynamically updated only per-listener using the listener prefix:"
    " "
)
AT_ONCE = "Cannot update these configs dynamically: "
ALONE = "Cannot update these configs at default cluster level, broker id must be specified: "


@pytest.mark.parametrize(
    ("name", "operation", "value", "code", "text"),
    [
        (PER_IP, SET, "x", 42, f"Invalid value x for configuration {PER_IP}: {NUMBER}"),
        (PER_IP, SET, "-5", 42, f"Invalid value -5 for configuration {PER_IP}: {TOO_LOW}"),
        (PER_IP, APPEND, "1", 40, f"Config value append is not allowed for config key: {PER_IP}"),
        (PER_IP, 7, "1", 42, "Unknown operations type 7"),
        ("super.users", APPEND, "User:b", 40, "Unknown config name: super.users"),
        ("node.id", SET, "7", 42, f"{AT_ONCE}[node.id]"),
        (REAUTH, SET, "7", 42, f"{AT_ONCE}[{REAUTH}]"),
        ("listener.name.a.plain.sasl.jaas.config", SET, "x", 42,
         f"{AT_ONCE}[listener.name.a.plain.sasl.jaas.config]"),
        ("listener.name.a.ssl.key.password", SET, "x", 42,
         f"{AT_ONCE}[listener.name.a.ssl.key.password]"),
        ("ssl.keystore.location", SET, "x", 42, f"{PREFIXED}[ssl.keystore.location]"),
        ("max.conections", SET, "1", 42, SLIP),
        ("doorkeeper.no.such", SET, "1", 42, "unknown key doorkeeper.no.such"),
        ("log.cleanup.policy", APPEND, "x", 42,
         f"Invalid value x for configuration log.cleanup.policy: {POLICIES}"),
        ("min.insync.replicas", SET, "2", 40,
         "Broker-level min.insync.replicas cannot be altered while ELR is enabled."),
    ],
)  # fmt: skip
def test_unchangeable_keys(name: str, operation: int, value: str, code: int, text: str) -> None:
    assert one(name, operation, value) == (code, text)


@pytest.mark.parametrize(
    ("name", "operation", "value", "refusal"),
    [
        ("listener.name.a.max.connections", SET, "7", None),
        ("max.connections", SET, "7", None),
        ("min.insync.replicas", SET, "2", None),
        (f"listener.name.a.{REAUTH}", SET, "7", (42, f"{ALONE}[listener.name.a.{REAUTH}]")),
        (STORE, SET, "a.p12", (42, f"{ALONE}[{STORE}]")),
        ("min.insync.replicas", DELETE, None, (40, KEPT)),
    ],
)  # fmt: skip
def test_cluster_level_keys(name: str, operation: int, value: str | None, refusal: object) -> None:
    result = one(name, operation, value, of_cluster=True)

    assert result == (refusal or {**GIVEN, name: value})
