"""Callback handlers in a real server: some that SIGHUP brings and takes away, some that hang."""

from __future__ import annotations

import os
import signal
import urllib.request
from typing import TYPE_CHECKING

from doorkeeper_wire.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from testkit import logins
from testkit.checkout import ROOT
from testkit.load import scaled
from testkit.serving import Serving

if TYPE_CHECKING:
    from pathlib import Path

KEYS = """\
listeners=DOOR://localhost:0
listener.security.protocol.map=DOOR:SASL_PLAINTEXT
inter.broker.listener.name=DOOR
sasl.enabled.mechanisms=PLAIN
connections.max.reauth.ms=600000
connection.failed.authentication.delay.ms=0
listener.name.door.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="alice-secret";
"""
HANDLER = "sasl.server.callback.handler.class=testkit.callback_handlers.Recorded\n"


def test_sighup_adds_and_removes_callback_handlers(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(KEYS)
    path = str(ROOT / "tests")
    with Serving(tmp_path, "--config", str(file), environment={"PYTHONPATH": path}) as server:

        def code(name: str, password: str) -> int:
            with server.connect("DOOR") as talk:
                return logins.plain(talk, name, password).error_code

        def reload(text: str, event: str, count: int) -> None:
            file.write_text(text)
            server.process.send_signal(signal.SIGHUP)
            server.line(event, count)

        assert (code("alice", "alice-secret"), code("bob", "bobbob")) == (0, 58)
        with server.connect("DOOR") as before:
            assert logins.plain(before, "alice", "alice-secret").error_code == 0

            reload(KEYS + HANDLER, "reloaded", 1)
            assert (code("alice", "alice-secret"), code("bob", "bobbob")) == (58, 0)
            answer = before.call(DescribeClusterRequest(), DescribeClusterResponse, 1)
            assert answer.error_code == 0

        broken = HANDLER + "listener.name.door.plain.twice.stay=1\n"
        reload(KEYS, "reloaded", 2)
        assert (code("alice", "alice-secret"), code("bob", "bobbob")) == (0, 58)

        reload(KEYS + broken, "not reloaded", 1)
        assert server.line("not reloaded")["problem"].endswith(
            "=testkit.callback_handlers.Recorded failed to start: ConnectionError: nobody there"
        )
        assert (code("alice", "alice-secret"), code("bob", "bobbob")) == (0, 58)
        assert server.stop() == 0


def test_handlers_that_hang_hold_up_nothing_else(tmp_path: Path) -> None:
    """Each login leaves a thread of ``asyncio.to_thread`` behind, until there are none."""
    file = tmp_path / "server.properties"
    handler = "sasl.server.callback.handler.class=testkit.callback_handlers.Hanging\n"
    more = "doorkeeper.sasl.check.timeout.ms=100\ndoorkeeper.http.listener=http://127.0.0.1:0\n"
    file.write_text(KEYS + handler + more)
    path = str(ROOT / "tests")
    with Serving(tmp_path, "--config", str(file), environment={"PYTHONPATH": path}) as server:
        for _ in range(min(32, (os.cpu_count() or 1) + 4)):
            with server.connect("DOOR") as talk:
                assert logins.plain(talk, "alice", "secret").error_code == 58

        url = server.line("operations port open")["url"]
        for page in ("metrics", "history"):
            with urllib.request.urlopen(f"{url}/{page}", timeout=scaled(20)) as answer:
                assert answer.status == 200
        assert server.stop() == 0
