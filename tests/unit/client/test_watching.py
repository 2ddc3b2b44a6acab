"""Changes as a client gets them: in order, once, across lost connections."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.client.errors import LoginRefused, Unreachable, WatchRefused
from doorkeeper.client.watching import watch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

OK = b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


def event(revision: int) -> bytes:
    return b'id: %d\nevent: change\ndata: {"revision": %d}\n\n' % (revision, revision)


@asynccontextmanager
async def answering(*answers: bytes) -> AsyncIterator[tuple[str, list[str]]]:
    """Answer one connection after the other, and close each."""
    left, heads = list(answers), []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(left.pop(0))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", heads


async def take(changes: AsyncIterator[dict[str, Any]], count: int) -> list[int]:
    found: list[int] = []
    async for change in changes:
        found.append(change["revision"])
        if len(found) == count:
            break
    return found


async def test_changes_arrive_once_across_connections() -> None:
    first = OK + b"id: 3\nretry: 1000\n\n" + event(4) + event(5)[:-1]
    async with answering(first, OK + b": no changes\n\n", OK + event(5) + event(6)) as (url, heads):
        changes = watch(url, from_revision=4, principals=["User:a b"], token="t" * 16, retry_s=0)

        assert await take(changes, 3) == [4, 5, 6]

    assert "GET /history/watch?principal=User%3Aa+b HTTP/1.0" in heads[0]
    assert "Authorization: Bearer tttt" in heads[0]
    assert [head.split("Last-Event-ID: ")[1].strip() for head in heads] == ["3", "4", "4"]


async def test_starting_revision_is_remembered() -> None:
    async with answering(OK + b"id: 7\nretry: 1000\n\n", OK + event(8)) as (url, heads):
        assert await take(watch(url, retry_s=0), 1) == [8]

    assert "Last-Event-ID" not in heads[0]
    assert "Last-Event-ID: 7" in heads[1]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"HTTP/1.0 410 Gone\r\n\r\nrevision 1 is not in the log any more\n", WatchRefused),
        (b"HTTP/1.0 401 Unauthorized\r\n\r\n401 Unauthorized\n", LoginRefused),
        (b"HTTP/1.0 503 Service Unavailable\r\n\r\n", Unreachable),
        (b"", Unreachable),
    ],
)
async def test_rejection_ends_the_watch(answer: bytes, error: type[Exception]) -> None:
    async with answering(answer) as (url, _):
        with pytest.raises(error):
            await take(watch(url, retry_s=0), 1)


async def test_url_must_be_http() -> None:
    with pytest.raises(ValueError, match="allowed: http://HOST:PORT"):
        await take(watch("kafka://localhost:9092"), 1)
