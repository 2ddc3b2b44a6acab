"""The ACLs in the store of a server, as a repository."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.model import ANY_BINDING, exactly
from doorkeeper.cli.repositories.addresses import parse_address
from doorkeeper.cli.repositories.errors import RepositoryError
from doorkeeper.cli.repositories.stores import StoreRepository
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import CONFIG
from testkit.settings import settings_of
from testkit.stores import adding, binding, config, fill, open_store

if TYPE_CHECKING:
    from pathlib import Path

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
IN_MEMORY = "testkit.plugins.InMemory"
DYNAMIC = edit(CONFIG, set=[config("super.users", "User:dynamic")])
BINDINGS = sorted(binding(number).binding for number in (1, 2))


def repository(folder: Path, name: str, text: str = "") -> StoreRepository:
    settings = settings_of(
        f"listeners=PLAINTEXT://:0\nauthorizer.class.name={name}\n"
        f"doorkeeper.data.dir={folder / 'data'}\nsuper.users=User:file\n{text}"
    )
    return StoreRepository(parse_address(f"store:{folder / 'data'}"), settings)


def test_dynamic_values_override_the_configuration(tmp_path: Path) -> None:
    asyncio.run(fill(tmp_path / "data", adding(1, 2), DYNAMIC))
    owner = open_store(tmp_path / "data")
    store = repository(tmp_path, STANDARD, "allow.everyone.if.no.acl.found=true\n")

    found = asyncio.run(store.read())
    one = asyncio.run(store.find([exactly(BINDINGS[0])])).bindings

    owner.close()
    assert found.bindings == BINDINGS
    assert found.policy == Policy(super_users=frozenset({"User:dynamic"}), allow_everyone=True)
    assert (found.authorizer, found.unknown) == (None, 0)
    assert one == BINDINGS[:1]
    assert store.description == f"the store in {tmp_path / 'data'}"


async def test_session_changes_the_store(tmp_path: Path) -> None:
    store = repository(tmp_path, STANDARD)

    async with store.change(create=True) as session:
        assert await session.add(BINDINGS) == [None, None]
        assert (await session.listing([ANY_BINDING, ANY_BINDING])).bindings == BINDINGS
        assert await session.remove(BINDINGS[:1]) == [None]

    assert (await store.read()).bindings == BINDINGS[1:]


async def test_session_requires_a_store_not_in_use(tmp_path: Path) -> None:
    store = repository(tmp_path, STANDARD)
    owner = open_store(tmp_path / "data")

    with pytest.raises(RepositoryError, match=r"in use by process \d+; use .*kafka://HOST:PORT"):
        await store.change().__aenter__()

    owner.close()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("", "there are no ACLs: authorizer.class.name is not set"),
        (STANDARD, "no such file"),
        (IN_MEMORY, "found no store"),
        ("no.such.Thing", "authorizer.class.name=no.such.Thing"),
    ],
)
async def test_unreadable_store_is_reported(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(RepositoryError, match=text):
        await repository(tmp_path, name).read()
