"""Authorizers of others in a real process: what a client gets, what the log says, how it ends."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.delete_acls import DeleteAclsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit import e2e
from testkit.checkout import ROOT
from testkit.e2e import EVERYTHING, PATIENCE_S, topic_code
from testkit.frame_steps import delete, delete_filter
from testkit.serving import creation

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper_wire.messages.create_acls import CreateAclsRequest
    from testkit.serving import Serving

CUT_OFF = "connections closed before their pending responses were sent"


def serving(folder: Path, plugin: str, *settings: str) -> Serving:
    """Start a server with an authorizer of ``testkit.plugins``."""
    name = f"authorizer.class.name=testkit.plugins.{plugin}"
    return e2e.serving(folder, name, *settings, python_path=ROOT / "tests")


def printed(server: Serving) -> list[str]:
    """Return what the plug-in wrote, after the server ended."""
    return [line for line in server.errors().splitlines() if line.startswith("plug-in: ")]


def first_error(server: Serving) -> str:
    """Wait for the next line on stderr."""
    assert server.process.stderr is not None
    return server.process.stderr.readline().decode()


def on_topics(*names: str) -> CreateAclsRequest:
    """Return a request that creates an ACL on each topic."""
    request = creation("User:a")
    (row,) = request.creations
    return request.replace(creations=tuple(row.replace(resource_name=name) for name in names))


def test_authorizer_that_always_raises(tmp_path: Path) -> None:
    """Every request is answered -1 without a text, nothing is allowed, the server goes on."""
    with serving(tmp_path, "RaisesEverywhere") as server, server.connect() as conversation:
        described = conversation.call(EVERYTHING, DescribeAclsResponse, 3)
        assert (described.error_code, described.error_message, described.resources) == (
            -1,
            None,
            (),
        )
        created = conversation.call(creation("User:a", "User:b"), CreateAclsResponse, 3)
        assert [(r.error_code, r.error_message) for r in created.results] == [(-1, None)] * 2
        deleted = conversation.call(delete(delete_filter()).request, DeleteAclsResponse, 3)
        assert [(r.error_code, r.matching_acls) for r in deleted.filter_results] == [(-1, ())]
        assert topic_code(conversation) == -1
        server.line("a request failed", 4)
        lines = server.of("a request failed")
        assert {line["authorizer"] for line in lines} == {"testkit.plugins.RaisesEverywhere"}
        assert server.line("started")["acls"] == -1
        assert server.stop() == 0


@pytest.mark.parametrize("needs", ["acls", "create_acls"])
def test_out_of_memory_ends_the_process(tmp_path: Path, needs: str) -> None:
    request = EVERYTHING if needs == "acls" else creation("User:a")
    with serving(tmp_path, "OutOfMemory", f"plugin.needs={needs}") as server:
        with server.connect() as conversation:
            conversation.send(request, 3)
            assert server.process.wait(PATIENCE_S) == 1
        assert server.errors().endswith("doorkeeper: out of memory: the process ends\n")


def test_server_information_for_the_authorizer(tmp_path: Path) -> None:
    settings = (
        "listeners=CLIENTS://localhost:0,NODES://127.0.0.1:0,CONTROLLER://localhost:0",
        "listener.security.protocol.map=CLIENTS:PLAINTEXT,NODES:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names=CONTROLLER",
        "inter.broker.listener.name=NODES",
        "broker.id=7",
    )
    with serving(tmp_path, "InMemory", *settings) as server:
        port, cluster = server.port("NODES"), server.line("started")["cluster_id"]
        assert server.stop(signal.SIGINT) == 0
        (started, closed) = printed(server)
    assert f"cluster_id='{cluster}', node_id=7, endpoints=(Endpoint(listener_name='CLI" in started
    endpoint = "Endpoint(listener_name='NODES', security_protocol='PLAINTEXT', host='127.0.0.1', "
    assert f"inter_broker_endpoint={endpoint}port={port})" in started
    assert "early_start_listeners=frozenset({'CONTROLLER'})" in started
    assert closed == "plug-in: closed"


def test_authorizer_is_closed_after_the_last_response(tmp_path: Path) -> None:
    with serving(tmp_path, "Unhurried") as server, server.connect() as conversation:
        conversation.call(EVERYTHING, DescribeAclsResponse, 3)
        conversation.send(on_topics(*(f"late-{each}" for each in range(40))), 3)
        assert [first_error(server) for _ in "12"][1] == "plug-in: asked\n"
        server.process.send_signal(signal.SIGTERM)
        answer = conversation.answer(CreateAclsResponse, 3)
        assert {row.error_code for row in answer.results} == {0}
        assert server.process.wait(PATIENCE_S) == 0
        assert printed(server) == ["plug-in: closed"]
        assert not server.of(CUT_OFF)


def test_drain_timeout_closes_the_authorizer(tmp_path: Path) -> None:
    with serving(tmp_path, "Unhurried", "doorkeeper.shutdown.drain.ms=200") as server:
        with server.connect() as conversation:
            conversation.call(EVERYTHING, DescribeAclsResponse, 3)
            conversation.send(on_topics("never-x"), 3)
            assert [first_error(server) for _ in "12"][1] == "plug-in: asked\n"
            assert server.stop() == 0
        assert printed(server) == ["plug-in: closed"]
        assert server.line(CUT_OFF)["connections"] == 1


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("configure", "plugin.url: found nothing; allowed: an address"),
        ("exit", "authorizer.class.name=testkit.plugins.BadStart: SystemExit: 7"),
        ("none", "failed to start: start returned None; expected: a mapping of endpoints"),
        ("fail", "failed to start: no policies"),
    ],
)
def test_start_failure_is_one_line(tmp_path: Path, way: str, said: str) -> None:
    """One line on stderr, status 1, no traceback; and it is closed, once."""
    with serving(tmp_path, "BadStart", f"plugin.way={way}") as server:
        assert server.process.wait(PATIENCE_S) == 1
        lines = server.errors().splitlines()
        assert lines.count("plug-in: closed") == 1
        (error,) = [line for line in lines if not line.startswith("plug-in: ")]
        assert error.startswith("doorkeeper: ")
        assert said in error
        assert "Traceback" not in str(server.lines)


def test_stop_during_start_closes_the_authorizer(tmp_path: Path) -> None:
    """The server stops waiting for the authorizer, and the process ends with status 0."""
    with serving(tmp_path, "BadStart", "plugin.way=never") as server:
        while "plug-in: " not in (line := first_error(server)):
            assert line, "the server ended"
        assert server.stop() == 0


@pytest.mark.parametrize("plugin", ["LeavesThreads", "LeavesThreadsUnconfigured"])
def test_remaining_threads_are_logged(tmp_path: Path, plugin: str) -> None:
    with serving(tmp_path, plugin) as server:
        if plugin == "LeavesThreads":
            server.port()
            assert server.stop() == 0
        else:
            assert server.process.wait(PATIENCE_S) == 1
        line = server.line("threads of the authorizer are still running")
    assert (line["threads"], line["authorizer"]) == ("policy-refresh", f"testkit.plugins.{plugin}")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_second_signal_ends_a_hanging_close(tmp_path: Path, number: int) -> None:
    with serving(tmp_path, "OlderThatStays") as server:
        server.port()
        server.process.send_signal(signal.SIGTERM)
        assert first_error(server) == "plug-in: closing\n"
        assert server.stop(number) == 128 + number


@pytest.mark.slow
def test_hanging_close_times_out(tmp_path: Path) -> None:
    with serving(tmp_path, "OlderThatStays") as server:
        server.port()
        assert server.stop() == 0
        line = server.line("the authorizer did not close: testkit.plugins.OlderThatStays")
        assert "timed out after 10 s" in line["exception"]
        server.line("stopped")
