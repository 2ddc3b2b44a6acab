"""Using a new configuration while the server runs."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from doorkeeper.base.errors import AuthorizerFault
from doorkeeper.server.app.reconfiguration import is_reloaded
from doorkeeper.server.app.reload import reload
from doorkeeper.server.config.keys import MAX_CONNECTIONS, SUPER_USERS
from testkit.reconfigured import PLUGIN, SET, Capricious, running

if TYPE_CHECKING:
    from pathlib import Path


def test_reloadable_keys() -> None:
    assert is_reloaded("listener.name.x.plain.sasl.jaas.config")
    assert is_reloaded("max.connections")
    assert not is_reloaded("listeners")
    assert not is_reloaded("com.example.key")
    assert is_reloaded("listener.name.x.plain.com.example.key")


async def test_plug_in_keys_are_reloaded(tmp_path: Path) -> None:
    async with running(tmp_path, "com.example.mood=one\nsuper.users=User:a\n", PLUGIN) as server:
        text = server.file.read_text()
        server.file.write_text(text.replace("=one", "=two").replace("User:a", "User:b"))
        await reload(server.file, (), server.assembly)
        server.file.write_text(text.replace("=one", "=bad") + "max.connections=7\n")
        await reload(server.file, (), server.assembly)
        for mood in ("exit", "false exit"):
            server.file.write_text(text.replace("=one", f"={mood}"))
            await reload(server.file, (), server.assembly)

        assert isinstance(server.assembly.authorizer, Capricious)
        assert server.assembly.authorizer.moods == ["one", "two"]
        assert server.assembly.node.settings[MAX_CONNECTIONS] == 2**31 - 1
        assert server.assembly.reconfiguration.is_reloaded()("com.example.mood")
        assert not server.assembly.reconfiguration.is_reloaded()("super.users")
        events = server.events()
        told = [event for event in events if "reload" in event or "restart" in event]
        assert told == ["reloaded", "changed keys that require a restart", *["not reloaded"] * 3]


async def test_plug_in_without_reloadable_keys(tmp_path: Path) -> None:
    plugin = "testkit.reconfigured.Reticent"
    async with running(tmp_path, "super.users=User:a\n", plugin) as server:
        server.file.write_text(server.file.read_text().replace("User:a", "User:b"))
        await reload(server.file, (), server.assembly)
        with pytest.raises(AuthorizerFault, match=f"^{plugin} failed in reconfigurable_configs: "):
            await server.alter("1", ("com.example.mood", SET, "x"))

        assert server.assembly.node.settings[SUPER_USERS] == "User:a"
        (line,) = server.log.lines()
        assert (line["event"], line["authorizer"]) == ("not reloaded", plugin)


async def test_host_lookup_does_not_block_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up = []

    def lookup(_limits: object) -> dict[str, int]:
        looked_up.append(threading.current_thread().name)
        return {}

    monkeypatch.setattr("doorkeeper.server.app.reconfiguration.resolved_overrides", lookup)
    async with running(tmp_path, "") as server:
        await server.alter("1", ("max.connections.per.ip.overrides", SET, "localhost:5"))
        await reload(server.file, (), server.assembly)

    assert looked_up == ["doorkeeper-names"] * 2
