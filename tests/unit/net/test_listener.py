"""Accepting connections."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from doorkeeper.limits import Limits
from doorkeeper.net.fair_queue import FairQueue
from doorkeeper.net.listener import Listener
from doorkeeper_wire.messages.api_versions import ApiVersionsResponse
from testkit.edge import LOOP_KINDS, edge, run, until, versions

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize("kind", LOOP_KINDS)
@pytest.mark.parametrize("number", [errno.EMFILE, errno.ECONNABORTED])
def test_errors_never_end_accepting(
    kind: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever ``accept`` says, it goes on; out of descriptors it rests, and says so once."""

    async def main() -> None:
        async with edge(limits=Limits(accept_retry_ms=1)) as running:
            listener = running.server._listeners["CLIENTS"]
            faults = iter([OSError(number, "injected")] * 3)
            take = listener._take_one

            async def failing() -> object:
                for fault in faults:
                    raise fault
                return await take()

            monkeypatch.setattr(Listener, "_take_one", lambda self: failing())
            first, second = await running.client(), await running.client()
            await first.call(versions(), ApiVersionsResponse, 3)
            await second.call(versions(), ApiVersionsResponse, 3)
            paused = "no descriptors left: accepting pauses until connections close"
            told = running.log.events().count(paused)
            assert told == (number == errno.EMFILE)
            assert running.log.events().count("accepting again") == told

    run(kind, main())


async def test_an_address_with_too_many_is_turned_away() -> None:
    """The one too many is accepted and closed at once, with one line; others are served."""
    async with edge(limits=Limits(connections_per_ip_max=1)) as running:
        first = await running.client()
        await first.call(versions(), ApiVersionsResponse, 3)

        second = await running.client()

        assert await second.ended() == b""
        line = running.log.one(
            "rejected connection: its address has the configured maximum already"
        )
        assert (line.fields["host"], line.fields["maximum"]) == ("127.0.0.1", 1)
        first.leave()
        await until(lambda: running.server.connections == 0)
        third = await running.client()
        await third.call(versions(), ApiVersionsResponse, 3)


async def test_a_stop_before_a_connection_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever was accepted and waits for its turn is closed, and counted no more."""

    async with edge() as running:
        turns: list[Callable[[], None]] = []
        monkeypatch.setattr(FairQueue, "put", lambda self, host, work: turns.append(work))
        client = await running.client()
        await until(lambda: len(turns) == 1)
        counted = running.server.connections

        assert await running.server.drain(1) == 0
        turns[0]()

        assert (counted, running.server.connections) == (1, 0)
        assert await client.ended() == b""
