"""Making the authorizer that is configured, and starting it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.server.app.authorizer import (
    authorizer_of,
    open_authorizer_file,
    refused_start,
    server_info,
    start_authorizer,
)
from doorkeeper.server.app.errors import StartError
from doorkeeper.server.authorizer.contract import Endpoint, completed
from doorkeeper.server.authorizer.guard import GuardedAuthorizer
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.memory import MemoryStore
from testkit.authorizers import CollectedAuthorizerLog
from testkit.settings import settings_of
from testkit.trails import Log

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping
    from pathlib import Path

    from doorkeeper.server.authorizer.contract import Authorizer, AuthorizerServerInfo

STANDARD = "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"


class Broken(StandardAuthorizer):
    """A plug-in that cannot be made."""

    def __init__(self) -> None:
        raise OSError("no licence")


def made(text: str) -> Authorizer | None:
    return authorizer_of(
        settings_of(text).entries, StateLog(MemoryStore()), CollectedAuthorizerLog()
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("authorizer.class.name=no.such.Class", "line 1: authorizer.class.name=no.such.Class: "),
        (f"{STANDARD}\nsuper.users=admin", "line 2: super.users: "),
    ],
)
def test_invalid_authorizer_is_reported_in_one_line(text: str, said: str) -> None:
    with pytest.raises(StartError) as caught:
        made(text)

    (problem,) = caught.value.problems
    assert said in problem
    assert problem.partition(" line ")[0].endswith("server.properties")


def test_plug_in_errors_are_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doorkeeper.server.app.authorizer.authorizer_class", lambda name: Broken)

    with pytest.raises(StartError, match=r"=x\.Y: OSError: no licence"):
        made("authorizer.class.name=x.Y")


def test_authorizer_receives_endpoints() -> None:
    settings = settings_of(
        "node.id=7\nlisteners=PLAINTEXT://localhost:1,CONTROLLER://localhost:2\n"
        "controller.listener.names=CONTROLLER"
    )
    endpoints = [
        Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 1),
        Endpoint("CONTROLLER", "PLAINTEXT", "localhost", 2),
    ]

    info = server_info(settings, "c" * 22, endpoints)

    assert info.node_id == 7
    assert info.endpoints == tuple(endpoints)
    assert info.inter_broker_endpoint == endpoints[0]
    assert info.early_start_listeners == {"CONTROLLER"}


class RefusesItsKeys(StandardAuthorizer):
    """A plug-in whose configuration is wrong."""

    closed = 0

    def configure(self, configs: Mapping[str, str]) -> None:
        raise ValueError("plugin.url: found nothing;\nallowed: an address")

    def close(self) -> None:
        type(self).closed += 1
        raise OSError("and it does not close either")


def test_authorizer_that_rejects_its_keys_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "doorkeeper.server.app.authorizer.authorizer_class", lambda name: RefusesItsKeys
    )

    with pytest.raises(StartError, match=r"^plugin\.url: found nothing; allowed: an address$"):
        made("authorizer.class.name=x.Y")
    assert RefusesItsKeys.closed == 1


@pytest.mark.parametrize("error", [OSError(), asyncio.CancelledError()])
async def test_start_error_is_one_line(error: BaseException) -> None:
    settings = settings_of("authorizer.class.name=x.Y")
    endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 1)

    class FailsToStart(StandardAuthorizer):
        def start(self, server_info: AuthorizerServerInfo) -> Mapping[Endpoint, Awaitable[None]]:
            raise error

    info = server_info(settings, "c" * 22, [endpoint])
    with pytest.raises(StartError, match=rf"x.Y failed to start: {type(error).__name__}$"):
        start_authorizer(GuardedAuthorizer(FailsToStart()), settings, info)
    assert "timed out" in str(refused_start(settings, TimeoutError("timed out")))


async def test_start_returns_endpoints_of_the_server() -> None:
    """The listener that was meant would open before the authorizer has loaded."""
    settings = settings_of("authorizer.class.name=x.Y")
    endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 1)

    class ByName(StandardAuthorizer):
        def start(self, server_info: AuthorizerServerInfo) -> Mapping[Any, Awaitable[None]]:
            return {"PLAINTEXT": completed(None)}

    with pytest.raises(StartError, match="awaitable for 'PLAINTEXT'; expected: endpoints"):
        start_authorizer(
            GuardedAuthorizer(ByName()), settings, server_info(settings, "c" * 22, [endpoint])
        )


def test_authorizer_log_can_be_a_file(tmp_path: Path) -> None:
    usual, log = CollectedAuthorizerLog(), Log()
    path = tmp_path / "authorizer.log"

    file = open_authorizer_file(path, usual, log)
    file.write(20, "a line")
    file.close(10)

    assert path.read_text().endswith("INFO a line (kafka.authorizer.logger)\n")
    with pytest.raises(StartError, match=r"doorkeeper\.authorizer\.log\.file: .*none.*No such"):
        open_authorizer_file(tmp_path / "none" / "x", usual, log)
