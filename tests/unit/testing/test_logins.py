"""What a test says of a principal that no client has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.testing.configuration import configuration_of
from doorkeeper.testing.logins import WithoutEffect, stranger, strangers_of
from doorkeeper.testing.server import DoorkeeperServer

if TYPE_CHECKING:
    from doorkeeper.testing.configuration import Configuration

READ = {"resourceType": "TOPIC", "name": "t", "principal": "User:zed", "operation": "READ"}
USERS = {"a": "pw"}


def made(**options: Any) -> Configuration:
    return configuration_of(options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, []),
        ({"super_users": ["User:ANONYMOUS"]}, []),
        ({"super_users": ["User:ops"]}, ["super_users: no client can be User:ops: clients"]),
        ({"super_users": ["User:a"], "users": USERS}, []),
        ({"super_users": ["User:ops"], "users": USERS}, ["are User:admin, User:a; if this"]),
        (
            {"super_users": ["user:a"], "users": USERS},
            ["the principal type is case-sensitive: User, not user"],
        ),
        ({"super_users": ["User:CN=x"], "listeners": ["MTLS"]}, []),
        ({"super_users": ["User:x"], "listeners": ["MTLS"]}, ["are User:CN=NAME"]),
        ({"super_users": ["Group:x"], "users": USERS}, []),
        ({"super_users": ["User:ops"], "principals": ["User:ops"]}, []),
        ({"super_users": ["User:x"], "properties": {"principal.builder.class": "a.B"}}, []),
        ({"acls": [READ]}, []),
        ({"acls": [READ, READ], "users": USERS}, ["acls: no client can be User:zed"]),
        ({"acls": [{**READ, "principal": "User:*"}], "users": USERS}, []),
        ({"acls": [READ], "users": USERS, "principals": ["User:zed"]}, []),
    ],
)
def test_settings_for_unknown_users_are_rejected(options: dict[str, Any], said: list[str]) -> None:
    found = list(strangers_of(made(**options)))

    assert len(found) == len(said)
    assert all(text in sentence for text, sentence in zip(said, found, strict=True))


def test_statements_about_unknown_users_are_rejected() -> None:
    with DoorkeeperServer(users=USERS) as server:
        assert server.denies("User:a", "READ", topic="t")
        with pytest.warns(
            WithoutEffect, match="no client can be User:zed, so nothing would be tested"
        ):
            assert server.denies("User:zed", "READ", topic="t")
        with pytest.warns(
            WithoutEffect, match=("the principal type is case-sensitive: User, not user")
        ):
            assert server.denies("user:a", "READ", topic="t")
        with pytest.warns(WithoutEffect, match="User:zed"):
            assert server.denied("User:zed") == []

    with pytest.warns(WithoutEffect, match="User:ops"):
        DoorkeeperServer(super_users=["User:ops"])
    with DoorkeeperServer(users=USERS, principals=["User:zed"]) as server:
        assert server.denies("User:zed", "READ", topic="t")
    with DoorkeeperServer() as server:
        assert server.denies("User:zed", "READ", topic="t")


def test_users_created_by_clients_are_known() -> None:
    assert stranger(made(users=USERS), "User:new") is not None
    assert stranger(made(users=USERS), "User:new", ["new"]) is None


def test_kafka_configs_line_is_not_a_user() -> None:
    """As of kafka-configs.sh, whose mechanism would be the name of a user."""
    with pytest.raises(ValueError, match="'SCRAM-SHA-512' is a mechanism, as in"):
        made(users={"SCRAM-SHA-512": "[name=a,password=b]"})
