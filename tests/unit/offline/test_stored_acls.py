"""ACLs and policy of a store, read without changing anything."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from doorkeeper.acl.decision import Policy
from doorkeeper.app.errors import StartError
from doorkeeper.kinds.change import edit
from doorkeeper.kinds.declared import CONFIG
from doorkeeper.offline.stored_acls import policy_of, stored_acls
from testkit.settings import settings_of
from testkit.stores import adding, binding, config, fill, open_store

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.config.settings import Settings

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
IN_MEMORY = "testkit.plugins.InMemory"
DYNAMIC = edit(CONFIG, set=[config("super.users", "User:dynamic")])


def settings(folder: Path, name: str, text: str = "") -> Settings:
    return settings_of(
        f"listeners=PLAINTEXT://:0\nauthorizer.class.name={name}\n"
        f"doorkeeper.data.dir={folder / 'data'}\nsuper.users=User:file\n{text}"
    )


def test_values_given_while_the_server_ran_count(tmp_path: Path) -> None:
    """The store's super users stand in the place of the file's; a server may have the store."""
    asyncio.run(fill(tmp_path / "data", adding(1, 2), DYNAMIC))
    owner = open_store(tmp_path / "data")

    found = stored_acls(settings(tmp_path, STANDARD, "allow.everyone.if.no.acl.found=true\n"))

    owner.close()
    assert found.bindings == sorted(binding(number).binding for number in (1, 2))
    assert found.policy == Policy(super_users=frozenset({"User:dynamic"}), allow_everyone=True)
    assert found.decides is None


def test_another_authorizer_is_asked(tmp_path: Path) -> None:
    """Its ACLs are its own; who decides is told."""
    asyncio.run(fill(tmp_path / "data", adding(1)))

    found = stored_acls(settings(tmp_path, IN_MEMORY))

    assert (found.bindings, found.decides) == ([], IN_MEMORY)
    assert found.policy.super_users == {"User:file"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("", "there are no ACLs: authorizer.class.name names no authorizer"),
        (STANDARD, "there is no such file"),
        (IN_MEMORY, "there is no store"),
        ("no.such.Thing", "authorizer.class.name=no.such.Thing"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path: Path, name: str, text: str) -> None:
    """A line says why."""
    with pytest.raises(StartError, match=text):
        stored_acls(settings(tmp_path, name))


def test_a_wrong_super_user_is_told(tmp_path: Path) -> None:
    """As the server's start tells it."""
    wrong = settings_of("listeners=PLAINTEXT://:0\nsuper.users=alice\n")

    with pytest.raises(StartError, match=r"super\.users"):
        policy_of(wrong)
