"""The history over HTTP: pages of JSON, and a stream of changes."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode

import apsw
import pytest
from aiohttp.test_utils import make_mocked_request

from doorkeeper.server.config.http import HttpSettings
from doorkeeper.server.operations.http import history_pages
from doorkeeper.server.operations.http import port as http_port
from doorkeeper.server.operations.http.answers import Answer, Stream
from doorkeeper.server.operations.http.history_pages import HistoryPages
from doorkeeper.server.operations.http.pages import Pages
from doorkeeper.server.operations.http.port import HttpPort
from doorkeeper.server.runtime.threads import beside
from doorkeeper.server.state.storage.files import DATABASE_NAME
from doorkeeper.server.state.storage.portable_embedded import reading
from doorkeeper.server.state.storage.upkeep import prune
from testkit.edge import Log, until
from testkit.http_port import ask
from testkit.portables import CHANGES
from testkit.stores import NOW_MS, adding, append, open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from aiohttp import web

    from doorkeeper.server.state.history.revisions import Revision


class World:
    """A store with four revisions, and the pages over it."""

    def __init__(self, data_dir: Path) -> None:
        open_store(data_dir).close()
        self.data_dir = data_dir
        self.database = apsw.Connection(str(data_dir / DATABASE_NAME))
        self.head = 0
        for change in CHANGES:
            self.add(change)
        self.pages = HistoryPages(self.read, lambda: self.head)

    def add(self, change: Any) -> None:
        self.head += 1
        append(self.database, change, self.head, NOW_MS + self.head * 60_000)

    async def read(self, work: Any) -> Any:
        async with reading(self.data_dir, alone=False) as store:
            return await work(store)

    async def ask(self, **query: str) -> Answer:
        return await self.pages.revisions(request(**query))


def request(last_event_id: str = "", **query: str) -> web.Request:
    values = urlencode({name.rstrip("_"): value for name, value in query.items()})
    headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
    return make_mocked_request("GET", f"/history?{values}", headers=headers)


def body_of(answer: Answer | Stream) -> bytes:
    assert isinstance(answer, Answer)
    assert isinstance(answer.body, bytes)
    return answer.body


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    found = World(tmp_path / "data")
    yield found
    found.database.close()


def numbers(page: Answer) -> list[int]:
    assert page.status == 200
    return [each["revision"] for each in json.loads(body_of(page))["revisions"]]


async def test_changes_are_paged(world: World) -> None:
    first = await world.ask(limit="3")
    assert numbers(first) == [4, 3, 2]
    assert json.loads(body_of(first))["before"] == 2
    assert numbers(await world.ask(before="2")) == [1]
    assert numbers(await world.ask(kind="topic")) == [3, 2]
    assert numbers(await world.ask(until="2026-10-14T17:48:40Z")) == [2, 1]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"limit": "0"}, "limit: found '0'; allowed: 1 to 1000"),
        ({"before": "x"}, "before: found 'x'"),
        ({"since": "yesterday"}, "found 'yesterday'; allowed: a revision, an ISO"),
        ({"since": "3"}, "since: found '3'; allowed: a time"),
        ({"principal": "carl"}, "principal: "),
        ({"author": "carl"}, "author: "),
        ({"topic": "t"}, "found 'topic'; allowed: author, before"),
    ],
)
async def test_invalid_parameters_are_rejected(
    world: World, query: dict[str, str], text: str
) -> None:
    page = await world.ask(**query)

    assert page.status == 400
    assert text in body_of(page).decode()


async def events(page: Answer | Stream, count: int) -> list[int]:
    """Return the ids of the next events."""
    assert isinstance(page, Stream)
    found: list[int] = []
    async for part in page.parts:
        if b"event: change" in part:
            lines = part.decode().split("\n")
            change = json.loads(lines[2].removeprefix("data: "))
            assert lines[0] == f"id: {change['revision']}:{change['hash']}"
            found.append(change["revision"])
        if len(found) == count:
            break
    return found


async def test_stream_has_every_change_once(world: World) -> None:
    assert await events(await world.pages.watch(request(from_="2")), 3) == [2, 3, 4]
    again = await world.pages.watch(request(last_event_id="3", from_="1"))
    world.add(adding(100))
    assert await events(again, 2) == [4, 5]
    new = await world.pages.watch(request())
    world.add(adding(101))
    assert await events(new, 1) == [6]
    assert await events(await world.pages.watch(request(kind="topic", from_="1")), 2) == [2, 3]


async def test_idle_stream_sends_comments(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_pages, "HEARTBEAT_S", 0)
    stream = await world.pages.watch(request())
    assert isinstance(stream, Stream)

    begin = await anext(stream.parts)
    assert begin.startswith(b"id: 4:")
    assert begin.endswith(b"\nretry: 1000\n\n")
    assert await anext(stream.parts) == b": no changes\n\n"


async def test_events_are_made_beside_the_loop(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight streams of a change of 10,000 ACLs held up all clients of Kafka for 1.4 s."""
    threads: list[threading.Thread] = []

    def event(revision: Revision) -> bytes:
        threads.append(threading.current_thread())
        return b"event"

    async def read(work: Any) -> Any:
        return await beside(lambda: asyncio.run(world.read(work)), "of this test")

    monkeypatch.setattr(history_pages, "_event", event)
    stream = await HistoryPages(read, lambda: world.head).watch(request(from_="1"))
    assert isinstance(stream, Stream)
    parts = [await anext(stream.parts) for _ in range(1 + len(CHANGES))]

    assert parts[1:] == [b"event"] * len(CHANGES)
    assert {thread.name for thread in threads} == {"of this test"}


async def test_pruned_revisions_return_410(world: World) -> None:
    """410, with the oldest revision; a later reader begins there."""
    prune(world.database, before_ms=NOW_MS + 3 * 60_000)

    page = await world.pages.watch(request(from_="1"))

    assert page.status == 410
    assert b"revision 1 was pruned from the log; the oldest is 3" in body_of(page)
    for text in ("x", "-5", "1_0", "9" * 5000):
        page = await world.pages.watch(request(last_event_id=text))
        assert page.status == 400
        assert body_of(page).startswith(b"Last-Event-ID: found ")
        assert body_of(page).endswith(b"expected: a revision, or REVISION:HASH\n")


async def test_last_event_of_another_history_returns_410(world: World) -> None:
    """After the restore of an older store its number is that of another revision."""
    page = await world.pages.watch(request(last_event_id=f"3:{'0' * 64}"))

    assert page.status == 410
    assert b"revision 3 is not the one that was watched" in body_of(page)


@asynccontextmanager
async def running(world: World, tokens_file: Path | None = None) -> AsyncIterator[int]:
    log = Log()
    port = HttpPort(HttpSettings(host="127.0.0.1", port=0, tokens_file=tokens_file), log)
    heart = type("Heart", (), {"lag_s": 0.0})()
    none = cast("Any", None)
    await port.open(Pages({}, cast("Any", heart), none, port.credentials, world.pages))
    try:
        yield int(port.url.rpartition(":")[2])
    finally:
        await port.close()


async def test_stream_over_a_socket(world: World) -> None:
    async with running(world) as number:
        assert json.loads((await ask(number, "/history?limit=1")).body)["before"] == 4
        assert (await ask(number, "/history/watch", method="HEAD")).status == 200
        reader, writer = await asyncio.open_connection("127.0.0.1", number)
        writer.write(b"GET /history/watch?from=4 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
        assert b"id: 3\n" in await reader.readuntil(b"\n\n")
        assert b"id: 4:" in await reader.readuntil(b'"hash"')
        world.add(adding(100))
        assert b"id: 5:" in await reader.readuntil(b'event: change\ndata: {"revision": 5')
        writer.close()
        await writer.wait_closed()


async def test_history_requires_login(world: World, tmp_path: Path) -> None:
    token = "a-token-of-some-length"
    file = tmp_path / "tokens"
    file.write_text(f"{token}\n")
    async with running(world, file) as number:
        for page in ("/history", "/history/watch?from=1"):
            refused = await ask(number, page)
            assert refused.status == 401
            assert b"revision" not in refused.body
        bearer = {"Authorization": f"Bearer {token}"}
        assert (await ask(number, "/history", headers=bearer)).status == 200
        head = await ask(number, "/history/watch", method="HEAD", headers=bearer)
        assert head.status == 200


async def test_slow_stream_reader_is_disconnected(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_port, "WRITE_S", 0.01)
    monkeypatch.setattr(history_pages, "_event", lambda _: b"x" * 8_000_000)
    closed: list[bool] = []
    send = http_port._send

    async def note_end(*words: Any) -> Any:
        try:
            return await send(*words)
        finally:
            closed.append(True)

    monkeypatch.setattr(http_port, "_send", note_end)
    async with running(world) as number:
        reader, writer = await asyncio.open_connection("127.0.0.1", number)
        writer.write(b"GET /history/watch?from=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        taken = 0
        await until(lambda: bool(closed))
        try:
            while part := await reader.read(1 << 20):
                taken += len(part)
        except ConnectionError:
            pass
        assert taken < 4 * 8_000_000
        writer.close()
