"""One connection of the operations port."""

from __future__ import annotations

import asyncio
from typing import Any

from doorkeeper.http.connection import OneRequest
from testkit.edge import until


class Inner(asyncio.Protocol):
    """aiohttp's side, which writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.told.append("made")

    def data_received(self, data: bytes) -> None:
        self.told.append(data)

    def eof_received(self) -> bool:
        self.told.append("eof")
        return False

    def pause_writing(self) -> None:
        self.told.append("pause")

    def resume_writing(self) -> None:
        self.told.append("resume")

    def connection_lost(self, exc: Exception | None) -> None:
        self.told.append("lost")


class Pipe(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True


async def test_everything_is_handed_on() -> None:
    """In the order in which it came; the end is told to who counts connections."""
    inner, lost = Inner(), list[OneRequest]()
    connection = OneRequest(inner, "peer", lost.append)
    connected = [connection.is_connected]

    connection.connection_made(Pipe())
    connected.append(connection.is_connected)
    connection.data_received(b"GET")
    connection.pause_writing()
    connection.resume_writing()
    assert connection.eof_received() is False
    connection.connection_lost(None)

    assert inner.told == ["made", b"GET", "pause", "resume", "eof", "lost"]
    assert lost == [connection]
    assert connection.peer_id == "peer"
    assert [*connected, connection.is_connected] == [False, True, False]


async def test_who_takes_too_long_is_gone() -> None:
    """Whatever it does until then."""
    pipe = Pipe()
    connection = OneRequest(Inner(), "peer", lambda _: None, most_s=0.01)

    connection.connection_made(pipe)
    connection.data_received(b"G")
    assert not pipe.aborted

    await until(lambda: pipe.aborted)


async def test_one_that_never_shook_hands_is_forgotten() -> None:
    """Where there was no transport the other side hears of nothing."""
    inner, lost = Inner(), list[OneRequest]()
    connection = OneRequest(inner, "peer", lost.append)

    connection.abort("nobody there")
    connection.connection_lost(OSError("handshake"))

    assert inner.told == []
    assert lost == [connection]
