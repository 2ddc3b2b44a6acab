"""docker/compose.yaml, run: two nodes, PostgreSQL and Prometheus in containers.

Each test leaves the stack as it found it, but for more ACLs. Images of PostgreSQL and Prometheus
are those beside this file.
"""

from __future__ import annotations

import itertools
import os
import signal
import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest

from testkit.kafka_jars import VERSIONS
from testkit.podman import Podman, healthy, until
from testkit.stack import NODES, OTHERS, PORTS, Stack, asked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from testkit.kafka_tools import KafkaTools

# REQUEST_TIMED_OUT and KAFKA_STORAGE_ERROR: Kafka's own clients try both again.
RETRIABLE = {7, 56}

names = (f"User:reader-{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def stack(podman: Podman, image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Give the stack; the image is of this checkout."""
    assert image.endswith(":latest")
    with Stack(podman, tmp_path_factory.mktemp("stack")) as running:
        running.start()
        yield running


@pytest.fixture
def tool(stack: Stack, kafka_tools: Callable[[str], KafkaTools]) -> Callable[..., str]:
    """Run kafka-acls.sh of the newest release at a node, as the administrator."""

    def run(node: str, *words: str) -> str:
        address = f"localhost:{PORTS[node]}"
        login = ("--bootstrap-server", address, "--command-config", str(stack.admin))
        done = kafka_tools(VERSIONS[0]).run("kafka-acls", *login, *words)
        assert done.status == 0, done.text
        return done.stdout

    return run


def test_kafka_acls_works_across_nodes(stack: Stack, tool: Callable[..., str]) -> None:
    for here, there in (NODES, NODES[::-1]):
        name = next(names)
        words = ("--allow-principal", name, "--operation", "Read", "--topic", "orders")
        assert "Adding ACLs" in tool(here, "--add", *words)
        until(partial(stack.lists, there, {name}))
        assert name in tool(there, "--list")


@pytest.mark.parametrize("service", [*NODES, *OTHERS])
def test_probes_succeed(stack: Stack, service: str) -> None:
    """The health check of each container answers without a word."""
    assert stack.podman("healthcheck", "run", stack.container(service)) == ""


def test_probe_of_a_hung_node_fails(stack: Stack) -> None:
    first, second = NODES
    name = stack.container(first)
    server = stack.podman.inspect(name)["State"]["Pid"]
    os.kill(server, signal.SIGSTOP)
    try:
        probe = stack.podman.run("healthcheck", "run", name)
        until(lambda: healthy(stack.podman, stack.container(second)))
    finally:
        os.kill(server, signal.SIGCONT)

    # Its own patience ends after 4 s, podman's after 5 s: a busy machine meets the second first.
    assert probe.returncode == 1 or "exceeded timeout" in probe.stderr, probe.stdout + probe.stderr
    stack.wait(first)
    assert stack.podman.inspect(name)["State"]["Pid"] == server


@pytest.mark.parametrize("service", [*NODES, *OTHERS])
def test_containers_are_hardened(stack: Stack, service: str) -> None:
    """Nothing but volumes can be written; the user is not root, has no capability and gets none."""
    name = stack.container(service)
    writes = stack.podman.run("exec", name, "sh", "-c", "echo > /written")
    assert writes.returncode != 0
    assert "Read-only file system" in writes.stderr
    for folder in ("/etc", "/usr/bin", "/opt", "/var/lib"):
        assert stack.podman.run("exec", name, "touch", f"{folder}/written").returncode != 0
    status = stack.podman("exec", name, "cat", "/proc/1/status").splitlines()
    fields = {key: value.split() for key, _, value in (each.partition(":") for each in status)}
    assert "0" not in fields["Uid"]
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(fields[kind][0], 16) == 0, kind
    assert fields["NoNewPrivs"] == ["1"]


@pytest.mark.parametrize("service", NODES)
def test_processes_and_memory_are_limited(stack: Stack, service: str) -> None:
    """The limits are the kernel's: the 201st process does not begin, and the server stays."""
    name = stack.container(service)
    host = stack.podman.inspect(name)["HostConfig"]
    assert (host["Memory"], host["PidsLimit"]) == (1 << 30, 200)

    many = "i=0; while [ $i -lt 300 ]; do sleep 20 & i=$((i+1)); done"
    forked = stack.podman.run("exec", name, "sh", "-c", many)

    assert forked.returncode != 0
    assert "fork" in forked.stderr
    assert stack.readers(service) is not None


def test_killed_node_restarts_while_the_other_serves(
    stack: Stack, tool: Callable[..., str]
) -> None:
    first, second = NODES
    before = stack.podman.inspect(stack.container(first))["State"]["Pid"]
    # Not `podman kill`: a container that its user stopped is not started again.
    os.kill(before, 9)

    name = next(names)
    assert stack.add(second, [name]) == [0]
    assert name in tool(second, "--list")

    stack.wait(first)
    state = stack.podman.inspect(stack.container(first))
    assert state["State"]["Pid"] != before
    assert state["RestartCount"] >= 1
    until(lambda: name in stack.readers(first))


def test_database_restart_loses_no_acknowledged_change(stack: Stack) -> None:
    acknowledged: set[str] = set()
    refused: list[int] = []
    goes_on = threading.Event()
    goes_on.set()

    def write(node: str) -> None:
        number = 0
        while goes_on.is_set():
            number += 1
            name = f"User:{node}-{number}"
            [error] = stack.add(node, [name])
            if error == 0:
                acknowledged.add(name)
            else:
                refused.append(error)

    writers = [threading.Thread(target=write, args=(node,)) for node in NODES]
    for each in writers:
        each.start()
    try:
        until(lambda: len(acknowledged) >= 4, lambda: str(refused))
        stack.podman("stop", "--time", "30", stack.container("postgres"))
        until(lambda: len(refused) >= 2)
        for node in NODES:
            assert stack.readers(node)
        at_restart = len(acknowledged)
        stack.podman("start", stack.container("postgres"))
        until(lambda: len(acknowledged) >= at_restart + 4, lambda: str(refused))
    finally:
        goes_on.clear()
        for each in writers:
            each.join()

    stack.wait("postgres", *NODES)
    for node in NODES:
        until(partial(stack.lists, node, acknowledged))
    assert set(refused) <= RETRIABLE


def test_volumes_survive_down_and_up(stack: Stack) -> None:
    """``down`` and ``up`` are no loss: the database and the nodes' identity are in volumes."""
    name = next(names)
    assert stack.add("node-1", [name]) == [0]

    stack.call("down")
    stack.start()

    for node in NODES:
        assert name in stack.readers(node)


def test_prometheus_scrapes_both_nodes(stack: Stack) -> None:
    def health() -> dict[str, str]:
        targets = asked("targets")["activeTargets"]
        return {each["labels"]["instance"]: each["health"] for each in targets}

    until(lambda: health() == {f"{node}:9404": "up" for node in NODES}, lambda: str(health()))
    found = asked("query?query=doorkeeper_nodes")["result"]
    assert {each["metric"]["instance"] for each in found} == {f"{node}:9404" for node in NODES}

    def evaluated() -> set[str]:
        [group] = asked("rules")["groups"]
        assert len(group["rules"]) > 5
        return {each["health"] for each in group["rules"]}

    # Unknown until the first evaluation; an error stays.
    until(lambda: evaluated() == {"ok"}, lambda: str(evaluated()))

    checked = stack.podman(
        *("exec", stack.container("prometheus")),
        *("promtool", "check", "config", "/etc/prometheus/prometheus.yaml"),
    )

    assert "SUCCESS" in checked
