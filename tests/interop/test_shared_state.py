"""What one node changes counts on the others: values, topics, users, tokens, ACLs."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.acl.model import ANY_BINDING, Principal
from doorkeeper.authn.credentials import TokenLogin
from doorkeeper.authorizer.awaitables import as_future
from doorkeeper.kinds.declared import StoredTopic
from doorkeeper.tokens.model import Expiration, NewToken, SignedToken
from doorkeeper.updates.topics import change_topics
from doorkeeper.updates.users import alter_credentials
from doorkeeper.users.alteration import CredentialDeletion, CredentialUpsertion
from testkit.acl import READ, allow, request_of, topic
from testkit.memory_logs import LogServices
from testkit.reconfigured import CONTEXT, DELETE, SET, Running, running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from doorkeeper.config.dynamic_values import DynamicValues
    from testkit.postgres import Database

pytestmark = pytest.mark.interop

SECRET = "delegation.token.secret.key=shared\n"
ALICE = Principal("User", "alice")


@asynccontextmanager
async def two_nodes(
    tmp_path: Path, database: Database, secrets: tuple[str, str] = (SECRET, SECRET)
) -> AsyncIterator[tuple[Running, Running]]:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    texts = [
        f"node.id={number}\ndoorkeeper.store={database.url()}\n{secret}"
        for number, secret in enumerate(secrets, 1)
    ]
    async with running(folders[0], texts[0]) as one, running(folders[1], texts[1]) as two:
        yield one, two


def services(server: Running) -> Any:
    return LogServices(server.assembly.log)


async def becomes(read: Callable[[], object], expected: object) -> None:
    """Wait until something is as it shall be; some seconds at most."""
    deadline = asyncio.get_running_loop().time() + 5
    while read() != expected and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    assert read() == expected


async def test_acls_and_topics(tmp_path: Path, database: Database) -> None:
    """Decisions and Metadata of the other node know them."""
    async with two_nodes(tmp_path, database) as (one, two):
        assert one.assembly.guarded is not None
        assert two.assembly.guarded is not None
        binding = allow("alice", READ, topic("orders"))
        (created,) = one.assembly.guarded.create_acls(request_of("admin"), [binding])
        assert (await as_future(created, asyncio.get_running_loop())).error is None
        await becomes(lambda: list(two.assembly.guarded.acls(ANY_BINDING)), [binding])  # type: ignore[union-attr]

        made = StoredTopic("orders", bytes(range(16)), 3, 1, {})
        assert (await change_topics(services(two), CONTEXT, [made])).values == [None]
        await becomes(lambda: list(one.assembly.node.topics.names()), ["orders"])
        (again,) = (await change_topics(services(one), CONTEXT, [made])).values
        assert again is not None


async def test_values_of_the_cluster_and_of_a_broker(tmp_path: Path, database: Database) -> None:
    """The cluster's count everywhere; a broker's there only; the newest wins; one may go."""
    async with two_nodes(tmp_path, database) as (one, two):
        assert await one.alter("", ("max.connections", SET, "70")) == [None]
        assert await two.alter("2", ("max.connections.per.ip", SET, "5")) == [None]
        await becomes(lambda: dynamic_of(two).cluster.get("max.connections"), "70")
        await becomes(lambda: "keys changed by another node" in two.events(), expected=True)
        assert dynamic_of(one).broker == {}

        assert await two.alter("", ("max.connections", SET, "80")) == [None]
        assert dynamic_of(two).cluster["max.connections"] == "80"
        await becomes(lambda: dynamic_of(one).cluster.get("max.connections"), "80")
        assert await one.alter("", ("max.connections", DELETE, None)) == [None]
        await becomes(lambda: dynamic_of(two).cluster.get("max.connections"), None)
        assert dynamic_of(two).broker == {"max.connections.per.ip": "5"}


def dynamic_of(server: Running) -> DynamicValues:
    return server.assembly.node.settings.dynamic


async def test_a_user_made_on_one_node_logs_in_on_the_other(
    tmp_path: Path, database: Database
) -> None:
    """And one that was deleted there does no longer."""
    async with two_nodes(tmp_path, database) as (one, two):
        put = [CredentialUpsertion("bob", 1, 4096, b"salt", b"salted")]
        gone = [CredentialDeletion("bob", 1)]
        mechanism = "SCRAM-SHA-256"

        here, there = one.assembly.log, two.assembly.log
        assert (await alter_credentials(services(one), CONTEXT, [], put)).values == [None]
        made = here.state.credentials.credential(mechanism, "bob")
        assert made is not None
        await becomes(lambda: there.state.credentials.credential(mechanism, "bob"), made)
        assert (await alter_credentials(services(two), CONTEXT, gone, [])).values == [None]
        await becomes(lambda: here.state.credentials.credential(mechanism, "bob"), None)


async def test_a_token_made_on_one_node_counts_on_all(tmp_path: Path, database: Database) -> None:
    """It logs in on the other, which can end it, and then it does on neither."""
    async with two_nodes(tmp_path, database) as (one, two):
        signed = await _changed(one, NewToken(ALICE, ALICE, (), -1))
        token_id = signed.token.token_id
        here, there = one.assembly.tokens, two.assembly.tokens
        await becomes(lambda: isinstance(there.login(token_id), TokenLogin), expected=True)
        assert there.login(token_id) == here.login(token_id)

        await _changed(two, Expiration(signed.hmac, -1, ALICE))

        assert there.login(token_id) is None
        await becomes(lambda: here.login(token_id), None)


async def test_a_node_with_another_secret_says_so(tmp_path: Path, database: Database) -> None:
    """At its start, with the ids of the tokens that do not log in there."""
    async with two_nodes(tmp_path, database) as (one, _):
        signed = await _changed(one, NewToken(ALICE, ALICE, (), -1))
    folder = tmp_path / "three"
    folder.mkdir()
    text = f"node.id=3\ndoorkeeper.store={database.url()}\ndelegation.token.secret.key=other\n"

    async with running(folder, text) as three:
        lines = three.log.lines()

    (told,) = [line for line in lines if "of another secret" in line["event"]]
    assert told["ids"] == signed.token.token_id


async def _changed(server: Running, wish: NewToken | Expiration) -> SignedToken:
    (result,) = (await server.assembly.tokens.change(wish, CONTEXT)).values
    assert isinstance(result, SignedToken), result
    return result
