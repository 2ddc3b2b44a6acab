"""What the service manager is told."""

from __future__ import annotations

import socket
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.app.service_manager import READY, STOPPING, notify, reloading

if TYPE_CHECKING:
    from pathlib import Path


def listening(address: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    made.settimeout(60)
    made.bind(address)
    return made


@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_notifications_are_datagrams(kind: str, tmp_path: Path) -> None:
    name = str(tmp_path / "notify") if kind == "path" else f"@{tmp_path}"
    with closing(listening(name.replace("@", "\0", 1))) as receiving:
        for state in (READY, reloading(5_000_999), STOPPING):
            notify(name, state)

        assert [receiving.recv(100) for _ in range(3)] == [
            b"READY=1",
            b"RELOADING=1\nMONOTONIC_USEC=5000",
            b"STOPPING=1",
        ]


@pytest.mark.parametrize("address", [None, "", "/nowhere/notify", "x" * 200])
def test_without_service_manager_nothing_is_sent(address: str | None) -> None:
    notify(address, READY)
