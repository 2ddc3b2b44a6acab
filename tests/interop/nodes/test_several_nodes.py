"""Kafka's tools and AdminClient with two nodes: one cluster, whichever node they begin with."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from testkit.cluster import Cluster
from testkit.kafka_jars import VERSIONS
from testkit.kafka_tools import Done, KafkaTools
from testkit.postgres import Postgres

REFERENCE = VERSIONS[0]
WITHIN_S = 60.0
"""What is milliseconds on a quiet machine."""

Run = Callable[..., Done]


@pytest.fixture(scope="module")
def cluster(postgres_server: Postgres) -> Iterator[Cluster]:
    """Two nodes of one cluster."""
    database = postgres_server.create_database()
    with Cluster(database, 2) as running:
        yield running
    database.drop()


@pytest.fixture
def run(tools: KafkaTools, cluster: Cluster) -> Run:
    """Run a tool, beginning with one node: 0 or 1."""

    def command(node: int, tool: str, line: str) -> Done:
        address = f"127.0.0.1:{cluster.ports[node]}"
        done = tools.run(tool, "--bootstrap-server", address, *line.split())
        assert done.status == 0, done
        return done

    return command


def config(cluster: Cluster, node: int) -> dict[str, str]:
    return {"bootstrap.servers": f"127.0.0.1:{cluster.ports[node]}"}


def begin_group(tools: KafkaTools, address: str) -> None:
    """Commit an offset of the group payments, which then exists."""
    at = ("--bootstrap-server", address)
    made = tools.run("kafka-topics", *at, "--create", "--if-not-exists", "--topic", "orders")
    assert made.status == 0, made
    words = ("--group", "payments", "--topic", "orders", "--reset-offsets", "--to-earliest")
    reset = tools.run("kafka-consumer-groups", *at, *words, "--execute")
    assert reset.status == 0, reset


def becomes(read: Callable[[], Any], expected: Any) -> None:
    """Wait until something is as it shall be."""
    until_s = time.monotonic() + WITHIN_S
    while read() != expected and time.monotonic() < until_s:
        time.sleep(0.02)
    assert read() == expected


def test_each_node_lists_both(tools: KafkaTools, cluster: Cluster) -> None:
    first, second = [tools.call("describeCluster", config(cluster, node)) for node in (0, 1)]

    assert first["clusterId"] == second["clusterId"]
    assert first["controller"] == second["controller"] == 1
    expected = [[number, "127.0.0.1", port] for number, port in enumerate(cluster.ports, 1)]
    assert sorted(first["nodes"]) == sorted(second["nodes"]) == expected


def test_acls_are_shared_between_nodes(run: Run, tools: KafkaTools) -> None:
    topic = f"orders-{tools.version}"
    line = f"--allow-principal User:alice --operation Read --topic {topic}"

    def is_listed(node: int) -> bool:
        return "User:alice" in run(node, "kafka-acls", f"--list --topic {topic}").stdout

    run(0, "kafka-acls", f"--add {line}")
    for node in (0, 1):
        becomes(partial(is_listed, node), expected=True)
    run(1, "kafka-acls", f"--remove --force {line}")
    for node in (0, 1):
        becomes(partial(is_listed, node), expected=False)


def test_groups_are_listed_once(run: Run, tools: KafkaTools, cluster: Cluster) -> None:
    begin_group(tools, config(cluster, 0)["bootstrap.servers"])
    for node in (0, 1):
        assert run(node, "kafka-consumer-groups", "--list").stdout.split() == ["payments"]
        state = "--describe --group payments --state"
        shown = run(node, "kafka-consumer-groups", state).stdout.split("\n")
        coordinator = f"127.0.0.1:{cluster.ports[0]}"
        row = shown[2].split()
        # Some releases have a hyphen for the strategy.
        assert (row[:3], row[-2:]) == (["payments", coordinator, "(1)"], ["Empty", "0"])


def test_node_specific_keys_are_routed(run: Run) -> None:
    """kafka-configs.sh sends what is for one broker there, by whomever it begins with."""
    broker = "--entity-type brokers --entity-name 2"
    run(0, "kafka-configs", f"--alter {broker} --add-config max.connections=777")

    for node in (0, 1):
        shown = run(node, "kafka-configs", f"--describe {broker}").stdout
        assert "max.connections=777" in shown
    other = "--describe --entity-type brokers --entity-name 1"
    assert "777" not in run(1, "kafka-configs", other).stdout
    run(1, "kafka-configs", f"--alter {broker} --delete-config max.connections")


def test_controller_failover(
    kafka_tools: Callable[[str], KafkaTools], postgres_server: Postgres
) -> None:
    tools = kafka_tools(REFERENCE)
    database = postgres_server.create_database()
    with Cluster(database, 2) as cluster:
        left = config(cluster, 1)
        assert tools.call("describeCluster", left)["controller"] == 1
        begin_group(tools, left["bootstrap.servers"])

        cluster.servers[0].stop()

        found = tools.call("describeCluster", left)
        assert [node[0] for node in found["nodes"]] == [2]
        assert found["controller"] == 2
        address = left["bootstrap.servers"]
        shown = tools.run("kafka-cluster", "list-endpoints", "--bootstrap-server", address)
        assert "fenced" not in shown.stdout.replace("unfenced", "")
        fenced = ("list-endpoints", "--bootstrap-server", address, "--include-fenced-brokers")
        shown = tools.run("kafka-cluster", *fenced)
        statuses = [line.split() for line in shown.stdout.splitlines()[1:]]
        assert [(row[0], row[4]) for row in statuses] == [("1", "fenced"), ("2", "unfenced")]
        for text in (
            "Broker 1 is no longer registered.",
            "Broker ID 1 is not currently registered",
        ):
            gone = tools.run(
                *("kafka-cluster", "unregister", "--bootstrap-server", address, "--id", "1")
            )
            assert text in gone.stdout + gone.stderr
        shown = tools.run("kafka-cluster", *fenced)
        assert [line.split()[0] for line in shown.stdout.splitlines()[1:]] == ["2"]
        words = ("--bootstrap-server", address, "--list")
        assert tools.run("kafka-consumer-groups", *words).stdout.split() == ["payments"]
        row = ["TOPIC", "t", "LITERAL", "User:bob", "*", "WRITE", "ALLOW"]
        tools.call("createAcls", left, bindings=[row])
        cluster.servers[0].start()
        becomes(lambda: tools.call("describeCluster", left)["controller"], 1)
        assert tools.call("describeAcls", config(cluster, 0), filter=row) == [row]
    database.drop()
