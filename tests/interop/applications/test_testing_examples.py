"""What docs/how-to/testing.md says of others: confluent-kafka, aiokafka, kafkajs, Java's tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.testing import DoorkeeperServer
from testkit.clients import CLIENTS
from testkit.kafka_jars import VERSIONS
from testkit.or_skip import or_skip
from testkit.testing_examples import EXAMPLES, run_example

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from testkit.kafka_tools import KafkaTools

pytestmark = pytest.mark.interop
ORDERS = {
    "resourceType": "TOPIC",
    "name": "orders",
    "principal": "User:alice",
    "operation": "READ",
}
DOORS = [("PLAINTEXT", None), ("MTLS", None), ("SASL_SSL", "PLAIN"), ("SASL_SSL", "SCRAM-SHA-512")]


@pytest.mark.parametrize(
    ("library", "example"),
    [
        ("confluent-kafka", "test_with_confluent_kafka.py"),
        ("aiokafka", "test_with_aiokafka.py"),
    ],
)
def test_page_example_passes(library: str, example: str, tmp_path: Path) -> None:
    client = next(each for each in CLIENTS if each.name == library)
    packages = or_skip(client.site_packages)

    assert run_example(EXAMPLES / example, tmp_path, packages) == {"passed": 4}


def test_javascript_example_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = next(each for each in CLIENTS if each.name == "kafkajs")
    _, _, folder = or_skip(lambda: client.command(EXAMPLES / "service.js"))
    monkeypatch.setenv("NODE_PATH", f"{folder}/node_modules")

    found = run_example(EXAMPLES / "test_a_service_in_javascript.py", tmp_path)

    assert found == {"passed": 2}


@pytest.mark.parametrize(("listener", "mechanism"), DOORS)
def test_java_tools_connect(
    listener: str,
    mechanism: str | None,
    kafka_tools: Callable[[str], KafkaTools],
    tmp_path: Path,
) -> None:
    """With the file of write_java, kafka-acls.sh is let in by each listener and mechanism."""
    tools = kafka_tools(VERSIONS[0])
    users = {"admin": 'a "b" \\ \u00e9'} if mechanism else {}
    with DoorkeeperServer(listeners=[listener], users=users, acls=[ORDERS]) as server:
        config = server.client_config(mechanism=mechanism)
        file = config.write_java(tmp_path / "client.properties")
        words = ("--bootstrap-server", server.bootstrap_servers, "--command-config", str(file))

        done = tools.run("kafka-acls", *words, "--list")

    assert "(principal=User:alice, host=*, operation=READ, permissionType=ALLOW)" in done.text
