"""Authorizers of others in a real process: what a client gets, what the log says, how it ends."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper_wire.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from doorkeeper_wire.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from doorkeeper_wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from testkit.checkout import ROOT
from testkit.serving import Conversation, Serving, creation

if TYPE_CHECKING:
    from pathlib import Path

TESTS = str(ROOT / "tests")
EVERYTHING = DescribeAclsRequest(
    resource_type_filter=1,
    resource_name_filter=None,
    pattern_type_filter=1,
    principal_filter=None,
    host_filter=None,
    operation=1,
    permission_type=1,
)
DELETE_ALL = DeleteAclsRequest(
    filters=(
        DeleteAclsFilter(
            resource_type_filter=1,
            resource_name_filter=None,
            pattern_type_filter=1,
            principal_filter=None,
            host_filter=None,
            operation=1,
            permission_type=1,
        ),
    )
)
ONE_TOPIC = MetadataRequest(
    topics=(MetadataRequestTopic(name="orders"),), allow_auto_topic_creation=False
)


def serving(folder: Path, plugin: str, *overrides: str) -> Serving:
    """Start a server with an authorizer of ``testkit.plugins``."""
    settings = (
        "listeners=PLAINTEXT://localhost:0",
        f"authorizer.class.name=testkit.plugins.{plugin}",
        *overrides,
    )
    words = [word for setting in settings for word in ("--override", setting)]
    return Serving(folder, *words, environment={"PYTHONPATH": TESTS})


def failures(server: Serving, count: int) -> list[dict[str, Any]]:
    """Wait for so many lines about failed requests; each has the authorizer's name."""
    server.line("a request failed", count)
    found = server.of("a request failed")
    assert len(found) == count
    return found


def topics_of(conversation: Conversation, version: int = 12) -> list[int]:
    """Ask about the topic orders; return the codes of the rows."""
    return [
        row.error_code for row in conversation.call(ONE_TOPIC, MetadataResponse, version).topics
    ]


def test_one_that_raises_everywhere(tmp_path: Path) -> None:
    """Every request is answered -1 without a text, nothing is allowed, the server goes on."""
    with serving(tmp_path, "RaisesEverywhere") as server, server.connect() as conversation:
        described = conversation.call(EVERYTHING, DescribeAclsResponse, 3)
        assert (described.error_code, described.error_message) == (-1, None)
        assert described.resources == ()
        created = conversation.call(creation("User:a", "User:b"), CreateAclsResponse, 3)
        assert [(r.error_code, r.error_message) for r in created.results] == [(-1, None)] * 2
        deleted = conversation.call(DELETE_ALL, DeleteAclsResponse, 3)
        assert [(r.error_code, r.matching_acls) for r in deleted.filter_results] == [(-1, ())]
        assert topics_of(conversation) == [-1]

        lines = failures(server, 4)
        assert {line["authorizer"] for line in lines} == {"testkit.plugins.RaisesEverywhere"}
        assert {line["correlation_id"] for line in lines} == {1}
        assert server.line("started")["acls"] == -1
        assert server.stop() == 0


@pytest.mark.parametrize("needs", ["acls", "create_acls"])
def test_without_memory_the_process_ends(tmp_path: Path, needs: str) -> None:
    """In a read, which runs in the callback of the socket, and in the task of an update.

    The server would be half alive; what it has acknowledged is durable.
    """
    request = EVERYTHING if needs == "acls" else creation("User:a")
    with serving(tmp_path, "OutOfMemory", f"plugin.needs={needs}") as server:
        with server.connect() as conversation:
            conversation.send(request, 3)
            assert server.process.wait(60) == 1
        assert server.errors().endswith("doorkeeper: out of memory: the process ends\n")


@pytest.mark.parametrize("answers", ["none", "few", "many", "true", "text"])
def test_one_that_miscounts_or_mistypes(tmp_path: Path, answers: str) -> None:
    """Nothing is allowed by an answer that is none."""
    with serving(tmp_path, "Answers", f"plugin.answers={answers}") as server:
        with server.connect() as conversation:
            assert conversation.call(EVERYTHING, DescribeAclsResponse, 3).error_code == -1
            assert topics_of(conversation) == [-1]
        assert "authorize" in str(failures(server, 2)[0])


def test_acls_that_end_half_way(tmp_path: Path) -> None:
    """A top-level error with an empty list, never part of the ACLs; an ApiError keeps its text."""
    with serving(tmp_path, "Breaks") as server, server.connect() as conversation:
        conversation.call(creation("User:a", "User:b"), CreateAclsResponse, 3)

        answer = conversation.call(EVERYTHING, DescribeAclsResponse, 3)

        assert (answer.error_code, answer.error_message) == (44, "no more than that")
        assert answer.resources == ()
        line = server.line("the authorizer refused a request")
        assert (line["authorizer"], line["api"]) == ("testkit.plugins.Breaks", "DescribeAcls")
        assert "exception" not in line


def test_one_that_is_slow_is_told_once(tmp_path: Path) -> None:
    """The line names the authorizer and the time; a second slow call is not told."""
    with serving(tmp_path, "Slow", "doorkeeper.authorizer.slow.ms=10") as server:
        with server.connect() as conversation:
            for _ in range(3):
                conversation.call(EVERYTHING, DescribeAclsResponse, 3)
        server.stop()
        told = [line for line in server.lines if "slow.ms=10" in line["event"]]
    assert len(told) == 1
    assert "testkit.plugins.Slow took " in told[0]["event"]


def printed(server: Serving) -> list[str]:
    """Return what the plug-in wrote, the server having ended."""
    return [line for line in server.errors().splitlines() if line.startswith("plug-in: ")]


def test_what_it_learns_of_the_server(tmp_path: Path) -> None:
    """Cluster, node, endpoints as bound, the one between nodes, and which open early."""
    overrides = (
        "listeners=CLIENTS://localhost:0,NODES://127.0.0.1:0,CONTROLLER://localhost:0",
        "listener.security.protocol.map=CLIENTS:PLAINTEXT,NODES:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names=CONTROLLER",
        "inter.broker.listener.name=NODES",
        "broker.id=7",
    )
    with serving(tmp_path, "InMemory", *overrides) as server:
        port, cluster = server.port("NODES"), server.line("started")["cluster_id"]
        server.stop()
        (started, closed) = printed(server)

    assert f"cluster_id='{cluster}', node_id=7, endpoints=(Endpoint(listener_name='CLI" in started
    endpoint = "Endpoint(listener_name='NODES', security_protocol='PLAINTEXT', host='127.0.0.1', "
    assert f"inter_broker_endpoint={endpoint}port={port})" in started
    assert "early_start_listeners=frozenset({'CONTROLLER'})" in started
    assert closed == "plug-in: closed"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_closed_once(tmp_path: Path, number: int) -> None:
    """After the last answer, on either signal."""
    with serving(tmp_path, "InMemory") as server:
        server.port()
        assert server.stop(number) == 0
        assert not server.of("threads outlive the authorizer")
        assert printed(server)[1:] == ["plug-in: closed"]


def late(number: int) -> CreateAclsRequest:
    """Return a request whose items threads complete, four at a time, a moment later."""
    (row,) = creation("User:a").creations
    names = (f"late-{each}" for each in range(number))
    return CreateAclsRequest(creations=tuple(row.replace(resource_name=name) for name in names))


def test_closed_after_the_last_answer(tmp_path: Path) -> None:
    """What was asked before the signal is answered, and only then it is closed."""
    with serving(tmp_path, "Unhurried") as server, server.connect() as conversation:
        conversation.call(EVERYTHING, DescribeAclsResponse, 3)
        conversation.send(late(40), 3)
        assert [_first_error(server) for _ in "12"][1] == "plug-in: asked\n"
        server.process.send_signal(signal.SIGTERM)
        answer = conversation.answer(CreateAclsResponse, 3)
        assert {row.error_code for row in answer.results} == {0}
        assert server.process.wait(30) == 0
        assert printed(server) == ["plug-in: closed"]
        assert not server.of("connections cut off")


def test_closed_when_the_drains_time_is_over(tmp_path: Path) -> None:
    """An update that never ends keeps it no longer than doorkeeper.shutdown.drain.ms."""
    (row,) = creation("User:a").creations
    never = CreateAclsRequest(creations=(row.replace(resource_name="never-x"),))
    with serving(tmp_path, "Unhurried", "doorkeeper.shutdown.drain.ms=200") as server:
        with server.connect() as conversation:
            conversation.call(EVERYTHING, DescribeAclsResponse, 3)
            conversation.send(never, 3)
            assert [_first_error(server) for _ in "12"][1] == "plug-in: asked\n"
            assert server.stop() == 0
        assert printed(server) == ["plug-in: closed"]
        assert server.line("connections cut off")["connections"] == 1


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("configure", "plugin.url: found nothing; allowed: an address"),
        ("exit", "authorizer.class.name=testkit.plugins.BadStart: SystemExit: 7"),
        ("raise", "does not start: the policy server is away"),
        ("none", "does not start: start returned None; expected is a mapping of endpoints"),
        ("fail", "does not start: no policies"),
        ("cancel", "does not start: CancelledError"),
        ("odd", "does not start: found 7; expected is an awaitable"),
    ],
)
def test_one_that_does_not_start(tmp_path: Path, way: str, said: str) -> None:
    """One line on stderr, status 1, no traceback; and it is closed, once."""
    overrides = ("listeners=PLAINTEXT://localhost:0,CONTROLLER://localhost:0",)
    more = ("controller.listener.names=CONTROLLER", f"plugin.way={way}")
    with serving(tmp_path, "BadStart", *overrides, *more) as server:
        assert server.process.wait(30) == 1
        lines = server.errors().splitlines()
        assert lines.count("plug-in: closed") == 1
        (error,) = [line for line in lines if not line.startswith("plug-in: ")]
        assert error.startswith("doorkeeper: ")
        assert said in error
        assert "Traceback" not in str(server.lines)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("com.example.Policies", "found the name of a Java class; expected is a Python class"),
        ("nowhere.Policies", "cannot import nowhere: ModuleNotFoundError"),
        ("testkit.plugins.Nothing", "the module testkit.plugins has no Nothing"),
        ("testkit.plugins.print_line", "allowed: a subclass of doorkeeper.authorizer.Authorizer"),
    ],
)
def test_one_that_cannot_be_loaded(tmp_path: Path, name: str, said: str) -> None:
    """One line with key and value, status 1."""
    with serving(tmp_path, "X", f"authorizer.class.name={name}") as server:
        assert server.process.wait(30) == 1
        (line,) = server.errors().splitlines()

    assert line.startswith(f"doorkeeper: --override: authorizer.class.name={name}: ")
    assert said in line


def test_a_stop_during_the_start_closes_it(tmp_path: Path) -> None:
    """What it was still waiting for is given up, and the process ends well."""
    with serving(tmp_path, "BadStart", "plugin.way=never") as server:
        while "plug-in: " not in (line := _first_error(server)):
            assert line, "the server ended"
        assert server.stop() == 0


def _first_error(server: Serving) -> str:
    assert server.process.stderr is not None
    return server.process.stderr.readline().decode()


def test_threads_that_stay_are_told_and_do_not_keep_the_process(tmp_path: Path) -> None:
    """The log names them, and the process ends all the same."""
    with serving(tmp_path, "LeavesThreads") as server:
        server.port()
        assert server.stop() == 0
        line = server.line("threads outlive the authorizer")

    assert (line["threads"], line["authorizer"]) == (
        "policy-refresh",
        "testkit.plugins.LeavesThreads",
    )


def test_a_thread_of_one_that_refuses_its_keys_is_told(tmp_path: Path) -> None:
    """A start that fails names it as a stop does, and the process ends."""
    with serving(tmp_path, "LeavesThreadsUnconfigured") as server:
        assert server.process.wait(30) == 1
        line = server.line("threads outlive the authorizer")

    assert (line["threads"], line["authorizer"]) == (
        "policy-refresh",
        "testkit.plugins.LeavesThreadsUnconfigured",
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_one_that_does_not_close(tmp_path: Path, number: int) -> None:
    """At once, though it holds the loop: the status is the signal's."""
    with serving(tmp_path, "OlderThatStays") as server:
        server.port()
        server.process.send_signal(signal.SIGTERM)
        assert _first_error(server) == "plug-in: closing\n"

        assert server.stop(number) == 128 + number


@pytest.mark.slow
def test_one_that_does_not_close_is_given_up(tmp_path: Path) -> None:
    """After ten seconds the rest of the server closes well."""
    with serving(tmp_path, "OlderThatStays") as server:
        server.port()
        assert server.stop() == 0
        line = server.line("the authorizer did not close: testkit.plugins.OlderThatStays")
        assert "it took longer than 10 s" in line["exception"]
        server.line("stopped")


def test_updates_late_refused_failing_and_never(tmp_path: Path) -> None:
    """Each row has its own end, in the order of the request."""
    names = ("late-a", "last-b", "refused-c", "fails-d", "never-e", "once-f")
    rows = creation(*(f"User:{name}" for name in names))
    request = type(rows)(
        creations=tuple(
            row.replace(resource_name=name) for row, name in zip(rows.creations, names, strict=True)
        )
    )
    with serving(tmp_path, "Unhurried", "doorkeeper.update.timeout.ms=3000") as server:
        with server.connect() as conversation:
            answer = conversation.call(request, CreateAclsResponse, 3)
            described = conversation.call(EVERYTHING, DescribeAclsResponse, 3)

        assert [row.error_code for row in answer.results] == [0, 0, 44, -1, 7, 0]
        texts = [row.error_message for row in answer.results]
        assert texts == ["", "", "not this one", None, None, ""]
        stored = {each.resource_name for each in described.resources}
        assert stored == {"late-a", "last-b", "once-f"}
        line = server.line("items of an update failed")
        assert (line["authorizer"], line["failed"]) == ("testkit.plugins.Unhurried", 1)
        assert server.line("items of an update timed out")["timed_out"] == 1
        assert server.stop() == 0
        assert not server.of("threads outlive the authorizer")
