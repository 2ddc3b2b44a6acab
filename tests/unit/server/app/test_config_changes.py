"""Changing keys over the wire: judged, durable, then used."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.config.keys import MAX_CONNECTIONS
from doorkeeper.server.schema.change import SERVER, edit
from doorkeeper.server.schema.declared import CONFIG
from doorkeeper.server.state.log import StateLog
from testkit.load import scaled
from testkit.reconfigured import DELETE, PLUGIN, SET, Capricious, running
from testkit.state_logs import Database, ScriptedStore, turns
from testkit.stores import config, query

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from doorkeeper.server.schema.declared import StoredConfig
    from testkit.reconfigured import Running

MOOD = "com.example.mood"


def super_users(server: Running) -> frozenset[str]:
    authorizer = server.assembly.authorizer
    assert isinstance(authorizer, StandardAuthorizer)
    return frozenset(authorizer.policy.super_users)


async def test_change_applies_immediately_and_after_restart(tmp_path: Path) -> None:
    async with running(tmp_path, "super.users=User:file") as server:
        assert await server.alter("", ("super.users", SET, "User:cluster")) == [None]
        assert super_users(server) == {"User:cluster"}
        assert await server.alter("1", ("super.users", SET, "User:node")) == [None]
        assert super_users(server) == {"User:node"}

    async with running(tmp_path, "super.users=User:file") as server:
        assert super_users(server) == {"User:node"}
        assert await server.alter("1", ("super.users", DELETE, None)) == [None]
        assert super_users(server) == {"User:cluster"}
        assert await server.alter("", ("super.users", DELETE, None)) == [None]
        assert super_users(server) == {"User:file"}

    log = "SELECT kind, key, deleted, author_principal FROM change_log WHERE kind = 'config'"
    of_cluster, of_node = '["","super.users"]', '["1","super.users"]'
    assert query(tmp_path / "data", log) == [
        ("config", of_cluster, 0, "User:admin"),
        ("config", of_node, 0, "User:admin"),
        ("config", of_node, 1, "User:admin"),
        ("config", of_cluster, 1, "User:admin"),
    ]


async def test_invalid_change_is_rejected_as_a_whole(tmp_path: Path) -> None:
    async with running(tmp_path, "super.users=User:file") as server:
        good = ("max.connections", SET, "7")
        assert await server.alter("1", good, ("super.users", SET, "alice")) == [
            "42: super.users: expected a string in format principalType:principalName but got alice"
        ]
        (refusal,) = await server.alter("1", good, ("doorkeeper.log.levels", SET, "x=LOUD"))
        assert refusal is not None
        assert refusal.startswith("42: doorkeeper.log.levels: found 'x=LOUD'; allowed: ")

        assert super_users(server) == {"User:file"}
        assert server.assembly.node.settings[MAX_CONNECTIONS] == 2**31 - 1
    assert query(tmp_path / "data", "SELECT * FROM item WHERE kind = 'config'") == []


async def test_validate_only_changes_nothing(tmp_path: Path) -> None:
    """Not even the revision; but it asks everybody."""
    async with running(tmp_path, "", PLUGIN) as server:
        assert await server.alter("1", (MOOD, SET, "good"), validate_only=True) == [None]
        assert await server.alter("1", (MOOD, SET, "bad"), validate_only=True) == [
            "42: com.example.mood: found bad; allowed: any other"
        ]

        assert isinstance(server.assembly.authorizer, Capricious)
        assert server.assembly.authorizer.moods == [None]
    assert query(tmp_path / "data", "SELECT * FROM change_log WHERE kind = 'config'") == []


async def test_plug_in_receives_its_own_keys(tmp_path: Path) -> None:
    async with running(tmp_path, "", PLUGIN) as server:
        assert await server.alter("", (MOOD, SET, "good")) == [None]
        assert await server.alter("", ("max.connections", SET, "9")) == [None]
        for mood in ("odd", "exit"):
            (refusal,) = await server.alter("", (MOOD, SET, mood))
            assert refusal == (
                f"42: Validation of dynamic config update of [{MOOD}] failed with class Capricious"
            )

        assert isinstance(server.assembly.authorizer, Capricious)
        assert server.assembly.authorizer.moods == [None, "good"]


async def test_failed_plug_in_keeps_the_old_state(tmp_path: Path) -> None:
    """It accepted the value and failed to use it: the answer is -1, the store has the old one."""
    async with running(tmp_path, "", PLUGIN) as server:
        await server.alter("1", (MOOD, SET, "good"))

        assert await server.alter("1", (MOOD, SET, "false")) == ["-1: None"]
        assert await server.alter("1", (MOOD, SET, "false exit")) == ["-1: None"]

        assert server.assembly.node.settings.originals[MOOD] == "good"
    assert query(tmp_path / "data", "SELECT value FROM item WHERE kind = 'config'") == [
        ('["good"]',)
    ]


async def test_concurrent_changes_are_serialized(tmp_path: Path) -> None:
    async with running(tmp_path, "") as server:
        changes = [server.alter("1", (f"com.example.{n}", SET, "x")) for n in range(20)]

        assert await asyncio.gather(*changes) == [[None]] * 20

        assert len(server.assembly.node.settings.dynamic.broker) == 20
        assert not server.assembly.config_changes.turn.locked()


async def test_values_from_other_nodes_are_used(tmp_path: Path) -> None:
    database = Database()
    async with (
        running(tmp_path, "", store=ScriptedStore(database, 5)) as server,
        another_node(database) as other,
    ):
        rows = [config("max.connections", "7"), config("max.connections", "9", "3")]
        await give(other, database, *rows, config("com.example.key", "x", "1"))
        await until(lambda: server.assembly.node.settings[MAX_CONNECTIONS] == 7)
        assert server.assembly.node.settings.originals["com.example.key"] == "x"

        gone = edit(CONFIG, deleted=[config("max.connections", "7")])
        await other.submit(lambda _state: (gone, None), SERVER)
        await database.ring()
        await until(lambda: server.assembly.node.settings[MAX_CONNECTIONS] == 2**31 - 1)
        events = server.events()

    keys = [event for event in events if "dynamic configs changed by another node" in event]
    assert len(keys) == 2


async def test_invalid_value_from_another_node_is_ignored(tmp_path: Path) -> None:
    database = Database()
    async with (
        running(tmp_path, "", store=ScriptedStore(database, 5)) as server,
        another_node(database) as other,
    ):
        await give(other, database, config("super.users", "alice"))
        await until(lambda: len(server.assembly.log.state.configs) == 1)
        await turns()
        async with server.assembly.config_changes.turn:
            assert super_users(server) == frozenset()
        await give(other, database, config("max.connections", "7"))
        await until(lambda: server.assembly.node.settings[MAX_CONNECTIONS] == 7)
        events = server.events()

    assert events.count("dynamic values of another node have no effect here") == 1
    assert events[-1] == "dynamic configs changed by another node"


async def test_reloaded_state_is_used(tmp_path: Path) -> None:
    database = Database()
    async with (
        running(tmp_path, "", store=ScriptedStore(database, 5)) as server,
        another_node(database) as other,
    ):
        await other.submit(lambda _state: (edit(CONFIG, set=[config("x.y", "1")]), None), SERVER)
        row = config("max.connections", "7")
        await other.submit(lambda _state: (edit(CONFIG, set=[row]), None), SERVER)
        del database.logged[0]
        await database.ring()

        await until(lambda: server.assembly.node.settings[MAX_CONNECTIONS] == 7)


@asynccontextmanager
async def another_node(database: Database) -> AsyncIterator[StateLog]:
    log = StateLog(ScriptedStore(database, 5))
    await log.start()
    try:
        yield log
    finally:
        await log.aclose()


async def give(log: StateLog, database: Database, *rows: StoredConfig) -> None:
    """Store values, and have the other nodes look."""
    await log.submit(lambda _state: (edit(CONFIG, set=rows), None), SERVER)
    await database.ring()


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what the loop and its threads come to."""
    async with asyncio.timeout(scaled(30)):
        while not holds():
            await asyncio.sleep(0)
