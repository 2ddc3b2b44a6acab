"""Registered nodes: a row for each in the shared store, renewed by heartbeats.

The database's clock decides: a row contains its expiry, and a node that does not renew it in time
is no longer live, but fenced. A node that stops lets its row expire at once; ``unregister`` deletes
it. Starts and stops send a notification, so the others learn of them within milliseconds. While the
store is unavailable, nodes keep the last list.

An id belongs to one *run* of a process. A second process with the same id waits: it is rejected if
the first one sends another heartbeat, and replaces it when its row expires. Thus a killed node can
be restarted at once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final
from uuid import UUID, uuid4

import asyncpg

from doorkeeper.server.resources.cluster import Member
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.state.postgres.connecting import FAILED, opened
from doorkeeper.server.state.postgres.health import BackOff, reason
from doorkeeper.server.state.postgres.schema import VERSION
from doorkeeper.server.state.store import StorageError, StoreReplaced

Connect = Callable[[], Awaitable[asyncpg.Connection]]

CHANNEL: Final = "doorkeeper_nodes"

LOOK_S: Final = 0.1
"""Interval at which a process that waits for its id checks the heartbeats of the other one."""

_STORE_ID: Final = "SELECT value FROM doorkeeper.meta WHERE key = 'store_id'"
_ENTER: Final = """
INSERT INTO doorkeeper.node AS old (node_id, run, started_at, seen_at, leaves_at, about)
VALUES ($1, $2, now(), now(), now() + $3 * interval '1 second', $4)
ON CONFLICT (node_id) DO UPDATE
SET run = excluded.run, seen_at = excluded.seen_at, leaves_at = excluded.leaves_at,
    about = excluded.about,
    started_at = CASE WHEN old.run = excluded.run THEN old.started_at ELSE excluded.started_at END
WHERE old.run = excluded.run OR old.leaves_at <= now()
RETURNING started_at = seen_at AS is_new
"""
_OTHER: Final = """
SELECT run, seen_at, extract(epoch FROM leaves_at - seen_at)::float8 AS lasts_s
FROM doorkeeper.node WHERE node_id = $1
"""
_EXPEL: Final = "DELETE FROM doorkeeper.node WHERE node_id = $1 AND run = $2 AND seen_at = $3"
_LIVE: Final = "SELECT node_id FROM doorkeeper.node WHERE leaves_at > now() ORDER BY node_id"
_REGISTERED: Final = """
SELECT node_id, about,
    CASE WHEN leaves_at <= now() THEN (extract(epoch FROM leaves_at) * 1000)::bigint END
FROM doorkeeper.node ORDER BY node_id
"""
_LEAVE: Final = """
UPDATE doorkeeper.node SET leaves_at = now()
WHERE node_id = $1 AND run = $2 AND leaves_at > now()
"""
_UNREGISTER: Final = "DELETE FROM doorkeeper.node WHERE node_id = $1 RETURNING node_id"
_RING: Final = f"SELECT pg_notify('{CHANNEL}', '')"


async def check_store(connection: asyncpg.Connection, store_id: str) -> None:
    """Reject another store; one query, because a heartbeat has little time."""
    try:
        actual_id = await connection.fetchval(_STORE_ID)
    except asyncpg.UndefinedTableError:
        actual_id = None
    if actual_id != store_id:
        raise StoreReplaced(
            f"this is store {actual_id}" if actual_id else "found no store in this database"
        )


async def beat(connection: asyncpg.Connection, member: Member, run: UUID, timeout_s: float) -> bool:
    """Renew a node's row; return False if another live run has its id."""
    is_new = await connection.fetchval(_ENTER, member.node_id, run, timeout_s, _text_of(member))
    if is_new:
        await connection.execute(_RING)
    return is_new is not None


async def registered(connection: asyncpg.Connection) -> list[Member]:
    return [_member_of(*row) for row in await connection.fetch(_REGISTERED)]


async def live_ids(connection: asyncpg.Connection) -> list[int]:
    """Return the ids of the live nodes, in order."""
    return [row["node_id"] for row in await connection.fetch(_LIVE)]


async def leave(connection: asyncpg.Connection, node_id: int, run: UUID) -> None:
    await connection.execute(_LEAVE, node_id, run)
    await connection.execute(_RING)


async def unregister(connection: asyncpg.Connection, node_id: int) -> bool:
    """Delete a node's row; return False without one. A live node's next heartbeat makes another."""
    deleted_id = await connection.fetchval(_UNREGISTER, node_id)
    await connection.execute(_RING)
    return deleted_id is not None


def _text_of(member: Member) -> str:
    about = {"addresses": member.addresses, "rack": member.rack, "secret": member.secret}
    return json.dumps({**about, "schema": VERSION})


def _member_of(node_id: int, text: str, fenced_ms: int | None) -> Member:
    """Return a member; ignore fields of later versions."""
    try:
        about = json.loads(text)
        addresses = {name: (host, port) for name, (host, port) in about["addresses"].items()}
    except (KeyError, ValueError):
        if fenced_ms is None:
            raise
        # The row of a node that is down may stay for good: it must not hide the others.
        return Member(node_id, {}, None, "", fenced_ms)
    return Member(node_id, addresses, about["rack"], about["secret"], fenced_ms)


class Membership:
    """The membership of this node in the cluster. For the event loop's thread."""

    def __init__(
        self,
        connect: Connect,
        own: Callable[[], Member],
        on_members: Callable[[Sequence[Member]], None],
        *,
        interval_s: float,
        timeout_s: float,
        log: Logger,
    ) -> None:
        """``own`` returns this node's data at each heartbeat.

        ``connect`` rejects another store, see ``check_store``: members of another cluster must not
        appear here, nor this node there.
        """
        self._connect = connect
        self._own = own
        self._on_members = on_members
        self._interval_s = interval_s
        self._timeout_s = timeout_s
        self._run = uuid4()
        self._members: list[Member] = []
        self._strange: set[tuple[int, str, str]] = set()
        self._bell = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._has_place = True
        self._fault = ""
        self._log = log

    async def enter(self) -> None:
        """Claim this node's id, and start the heartbeats."""
        try:
            async with opened(self._connect()) as connection:
                await self._take_place(connection)
                self._take(await registered(connection))
        except FAILED as error:
            raise StorageError(f"cannot read the nodes of the store: {reason(error)}") from error
        self._task = asyncio.get_running_loop().create_task(self._beat_always())

    async def leave(self) -> None:
        """Stop the heartbeats, and let the row expire if the store is available."""
        if self._task is None:
            return
        # Cancelled repeatedly: before Python 3.12 wait_for may swallow a cancellation.
        while not self._task.done():
            self._task.cancel()
            await asyncio.wait((self._task,), timeout=LOOK_S)
        self._task = None
        with suppress(*FAILED):
            async with opened(self._connect()) as connection:
                await leave(connection, self._own().node_id, self._run)

    async def unregister(self, node_id: int) -> bool:
        """Remove a node from the cluster; return False if it is not registered."""
        try:
            async with opened(self._connect()) as connection:
                was_registered = await unregister(connection, node_id)
                # The caller shall not see the node again.
                self._take(await registered(connection))
        except FAILED as error:
            text = f"cannot change the nodes of the store: {reason(error)}"
            raise StorageError(text) from error
        return was_registered

    async def _take_place(self, connection: asyncpg.Connection) -> None:
        """Wait until the id is free."""
        own = self._own()
        clock = asyncio.get_running_loop().time
        before: tuple[object, ...] | None = None
        began_s = clock()
        while not await beat(connection, own, self._run, self._timeout_s):
            row = await connection.fetchrow(_OTHER, own.node_id)
            other = None if row is None else (row["run"], row["seen_at"])
            if before is None:
                self._log.info(
                    "another process has this node id: waiting for its heartbeat or its expiry",
                    node_id=own.node_id,
                )
            elif other is not None and other != before:
                raise StorageError(
                    f"node.id={own.node_id}: another process has the id {own.node_id} in this"
                    " cluster"
                )
            # The other process is silent, although its row has not expired: the database's clock
            # was set back.
            elif row is not None and clock() - began_s > row["lasts_s"] + LOOK_S:
                await connection.execute(_EXPEL, own.node_id, row["run"], row["seen_at"])
            before = other
            await asyncio.sleep(LOOK_S)

    async def _beat_always(self) -> None:
        back_off = BackOff()
        while True:
            try:
                # A connection attempt without an answer must not outlast the node's expiry.
                async with asyncio.timeout(self._timeout_s / 3):
                    connection = await self._connect()
                try:
                    async with asyncio.timeout(self._timeout_s / 3):
                        await connection.add_listener(CHANNEL, self._ring)
                    while True:
                        async with asyncio.timeout(self._timeout_s / 3):
                            await self._beat(connection)
                        self._fault = ""
                        back_off.reset()
                        # Before Python 3.12 wait_for may swallow a cancellation.
                        with suppress(TimeoutError):
                            async with asyncio.timeout(self._interval_s):
                                await self._bell.wait()
                finally:
                    connection.terminate()  # a polite close may take longer than a heartbeat
            except (*FAILED, StorageError) as error:
                # The store logs its outages itself.
                self._log.debug("no heartbeat", cause=reason(error))
            except Exception as error:  # without heartbeats this node would be removed
                if reason(error) != self._fault:
                    self._fault = reason(error)
                    self._log.exception("no heartbeat")
            await asyncio.sleep(min(back_off.next_s(), self._interval_s))

    def _ring(self, *_words: object) -> None:
        self._bell.set()

    async def _beat(self, connection: asyncpg.Connection) -> None:
        self._bell.clear()
        own = self._own()
        has_place = await beat(connection, own, self._run, self._timeout_s)
        if self._has_place and not has_place:
            self._log.error(
                "another process has taken over this node id; clients now connect to it",
                node_id=own.node_id,
            )
        self._has_place = has_place
        self._take(await registered(connection))

    def _take(self, members: list[Member]) -> None:
        """Publish a changed list of members, and log different token secrets."""
        if members == self._members:
            return
        if _live_ids(members) != _live_ids(self._members):
            self._log.info("live nodes changed", nodes=", ".join(map(str, _live_ids(members))))
        self._members = members
        self._compare_secrets(self._own())
        self._on_members(members)

    def _compare_secrets(self, own: Member) -> None:
        """Log each member with another token secret once, until one of both secrets changes."""
        strange = {
            (member.node_id, member.secret, own.secret)
            for member in self._members
            if member.secret != own.secret and not member.is_fenced
        }
        for node_id, _, _ in sorted(strange - self._strange):
            self._log.error(
                "delegation.token.secret.key differs from that of this node: tokens created by"
                " one cannot authenticate on the other",
                node_id=node_id,
            )
        self._strange = strange


def _live_ids(members: Sequence[Member]) -> list[int]:
    return [member.node_id for member in members if not member.is_fenced]
