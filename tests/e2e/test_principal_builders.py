"""Principal builders of others in a real server, and what is told where they fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper_wire.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from testkit import logins
from testkit.checkout import ROOT
from testkit.serving import Serving

if TYPE_CHECKING:
    from pathlib import Path

HERE = "testkit.callback_handlers"
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
USERS = ("raise", "none", "text", "alice")


def serving(folder: Path, builder: str, *more: str) -> Serving:
    users = " ".join(f'user_{name}="{name}"' for name in USERS)
    keys = (
        "listeners=DOOR://localhost:0,OPEN://localhost:0",
        "listener.security.protocol.map=DOOR:SASL_PLAINTEXT,OPEN:PLAINTEXT",
        "inter.broker.listener.name=OPEN",
        "sasl.enabled.mechanisms=PLAIN",
        f"listener.name.door.plain.sasl.jaas.config={PLAIN_MODULE} required {users};",
        builder,
        *more,
    )
    options = [word for key in keys for word in ("--override", key)]
    return Serving(folder, *options, environment={"PYTHONPATH": str(ROOT / "tests")})


@pytest.mark.parametrize(
    ("user", "cause"),
    [
        ("raise", "LookupError: nobody knows"),
        ("none", "found NoneType; allowed: a Principal of two texts, none of them empty"),
        ("text", "found str; allowed: a Principal of two texts, none of them empty"),
    ],
)
def test_no_principal_closes_the_connection(tmp_path: Path, user: str, cause: str) -> None:
    """The success leaves as a broker's does, nothing else is answered, and one line says why."""
    key = f"listener.name.door.principal.builder.class={HERE}.Faulty"
    with serving(tmp_path, key) as server:
        with server.connect("DOOR") as talk:
            assert logins.plain(talk, user, user).error_code == 0
            with pytest.raises((EOFError, ConnectionError)):
                talk.call(DescribeClusterRequest(), DescribeClusterResponse, 1)
        line = server.line("no principal could be made for a connection")
        assert line["cause"] == f"BuilderFault: {HERE}.Faulty: {cause}"
        assert line["connection"].startswith("127.0.0.1:")
        assert "Traceback" not in str(line)
        with server.connect("OPEN") as talk:
            assert talk.call(DescribeClusterRequest(), DescribeClusterResponse, 1).error_code == 0
        assert server.stop() == 0


def test_a_builder_that_fails_without_sasl(tmp_path: Path) -> None:
    """A connection that need not log in is closed at once."""
    key = f"listener.name.open.principal.builder.class={HERE}.Faulty"
    with serving(tmp_path, key) as server:
        with server.connect("OPEN") as talk, pytest.raises((EOFError, ConnectionError)):
            talk.call(DescribeClusterRequest(), DescribeClusterResponse, 1)
        line = server.line("no principal could be made for a connection")
        assert line["cause"] == f"BuilderFault: {HERE}.Faulty: KeyError: None"
        assert server.stop() == 0


@pytest.mark.parametrize(
    ("builder", "said"),
    [
        ("com.example.Builder", "found the name of a Java class; expected is a Python class"),
        (f"{HERE}.not_a_class", "found 7; allowed: a class with the method build"),
    ],
)
def test_what_is_no_builder_stops_the_start(tmp_path: Path, builder: str, said: str) -> None:
    """One line, which names key and class; the check of a configuration says the same."""
    with serving(tmp_path, f"principal.builder.class={builder}") as server:
        assert server.process.wait(30) == 1
        (line,) = server.errors().splitlines()

    assert line.startswith(f"doorkeeper: --override: principal.builder.class={builder}: {said}")
