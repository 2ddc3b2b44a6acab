"""From settings to a running server, and its end."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, ClassVar

import pytest

from doorkeeper.server.app.assembly import Assembly
from doorkeeper.server.app.errors import StartError
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.schema.features import metadata_level
from testkit.logs import readable_logs
from testkit.settings import settings_of
from testkit.stores import NOW_MS, adding, fill, open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Mapping
    from pathlib import Path

    from doorkeeper.server.authorizer.contract import AuthorizerServerInfo, Endpoint

STANDARD = "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
PORT_0 = "listeners=PLAINTEXT://localhost:0,CONTROLLER://localhost:0\n"
CONTROLLER = "controller.listener.names=CONTROLLER\n"


@asynccontextmanager
async def assembly(folder: Path, text: str) -> AsyncIterator[Assembly]:
    """Make an assembly over a store in the folder; its end closes everything."""
    settings = settings_of(f"{PORT_0}{CONTROLLER}{text}", f"doorkeeper.data.dir={folder / 'data'}")
    with readable_logs(folder / "log") as log:
        async with Assembly(settings, log.logs, lambda: NOW_MS) as made:
            yield made


async def connects(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionRefusedError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


async def opened(port: int) -> None:
    while not await connects(port):
        await asyncio.sleep(0)


async def test_server_starts_and_stops(tmp_path: Path) -> None:
    async with assembly(tmp_path, STANDARD) as server:
        await server.start()
        ports = {name: int(a.rpartition(":")[2]) for name, a in server.addresses.items()}

        assert ports.keys() == {"PLAINTEXT", "CONTROLLER"}
        for port in ports.values():
            assert await connects(port)

    for port in ports.values():
        assert not await connects(port)


async def test_release_of_store_and_configuration_must_match(tmp_path: Path) -> None:
    """A store from before releases follows 4.3: a server that names 4.4 does not start on it."""
    await fill(tmp_path / "data", adding(1))

    async with assembly(tmp_path, f"{STANDARD}doorkeeper.kafka.release=4.4\n") as server:
        with pytest.raises(StartError, match=r"the store follows Kafka 4\.3"):
            await server.start()
    async with assembly(tmp_path, f"{STANDARD}doorkeeper.kafka.release=4.3\n") as server:
        await server.start()
        assert metadata_level(server.node.state.features) == 30


class Held(StandardAuthorizer):
    """Opens the listeners when the test says so."""

    waits: ClassVar[dict[str, asyncio.Future[None]]] = {}

    def start(self, server_info: AuthorizerServerInfo) -> Mapping[Endpoint, Awaitable[None]]:
        loop = asyncio.get_running_loop()
        for endpoint in server_info.endpoints:
            self.waits[endpoint.listener_name] = loop.create_future()
        return {each: self.waits[each.listener_name] for each in server_info.endpoints}


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> dict[str, asyncio.Future[None]]:
    """The futures of an authorizer that waits for the test, by listener."""
    monkeypatch.setattr("doorkeeper.server.app.authorizer.authorizer_class", lambda name: Held)
    Held.waits.clear()
    return Held.waits


async def begun(waits: dict[str, asyncio.Future[None]]) -> None:
    while len(waits) < 2:
        await asyncio.sleep(0)


async def test_listener_opens_when_its_future_completes(
    tmp_path: Path, held: dict[str, asyncio.Future[None]]
) -> None:
    async with assembly(tmp_path, "authorizer.class.name=x.Y") as server:
        starting = asyncio.ensure_future(server.start())
        await begun(held)
        controller, plaintext = (
            server.edge.listeners[name].port for name in ("CONTROLLER", "PLAINTEXT")
        )

        held["CONTROLLER"].set_result(None)
        await opened(controller)
        assert not await connects(plaintext)
        assert not starting.done()

        held["PLAINTEXT"].set_result(None)
        await starting
        assert await connects(plaintext)


async def test_who_waits_for_the_authorizer_is_logged(
    tmp_path: Path, held: dict[str, asyncio.Future[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a broker: else a server that never opens its ports has no line in its log."""
    monkeypatch.setattr("doorkeeper.server.app.assembly.AUTHORIZER_START_S", 0.0)
    async with assembly(tmp_path, "authorizer.class.name=x.Y") as server:
        starting = asyncio.ensure_future(server.start())
        await begun(held)
        held["CONTROLLER"].set_result(None)
        while "a listener stays closed" not in (tmp_path / "log").read_text():
            await asyncio.sleep(0)
        held["PLAINTEXT"].set_result(None)
        await starting
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]

    assert "PLAINTEXT" in [line["listener"] for line in lines if "stays closed" in line["event"]]


async def test_failed_future_stops_the_start(
    tmp_path: Path, held: dict[str, asyncio.Future[None]]
) -> None:
    async with assembly(tmp_path, "authorizer.class.name=x.Y") as server:
        starting = asyncio.ensure_future(server.start())
        await begun(held)
        port = server.edge.listeners["PLAINTEXT"].port
        held["CONTROLLER"].set_exception(OSError("no database"))

        with pytest.raises(StartError, match=r"x\.Y failed to start: no database"):
            await starting

    assert not await connects(port)
    # The store is free again.
    open_store(tmp_path / "data").close()
