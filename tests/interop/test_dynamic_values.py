"""kafka-configs.sh changes the keys of brokers and topics, of both releases' tools."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from testkit.clients import CLIENTS
from testkit.kafka_acl_rows import ANY
from testkit.kafka_jars import Unavailable, cannot
from testkit.kafka_target import USERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from testkit.clients import Client
    from testkit.kafka_target import Target
    from testkit.kafka_tools import Done, KafkaTools

BROKER = "--entity-type brokers --entity-name 1"
CLUSTER = "--entity-type brokers --entity-default"
SUPER_USERS = "User:ANONYMOUS;User:admin"
ASKED = 400
REFUSALS = {
    "kafka-python-3": "ClusterAuthorizationFailedError",
    "confluent-kafka": "KafkaException",
}
"""What each library says when it is refused."""


@pytest.fixture(scope="module")
def alone(start_target: Callable[..., Target]) -> Iterator[Target]:
    """Give a server whose keys may change."""
    running = start_target()
    yield running
    running.close()


@pytest.fixture
def configs(tools: KafkaTools, alone: Target) -> Callable[..., Done]:
    """Run kafka-configs and require its exit status."""

    def command(line: str, *, status: int = 0) -> Done:
        done = tools.run("kafka-configs", *line.split(), "--bootstrap-server", alone.plain)
        assert done.status == status, done
        return done

    return command


def test_of_one_broker(configs: Callable[..., Done]) -> None:
    """--alter sets, --describe tells value, source and synonyms, --delete-config deletes."""
    done = configs(f"--alter {BROKER} --add-config max.connections.per.ip=4000")
    assert "Completed updating config for broker 1." in done.stdout

    shown = configs(f"--describe {BROKER}").stdout
    assert (
        "max.connections.per.ip=4000 sensitive=false synonyms={"
        "DYNAMIC_BROKER_CONFIG:max.connections.per.ip=4000,"
        " DEFAULT_CONFIG:max.connections.per.ip=2147483647}" in shown
    )

    configs(f"--alter {BROKER} --delete-config max.connections.per.ip")
    assert "max.connections.per.ip" not in configs(f"--describe {BROKER}").stdout


def test_of_all_brokers(configs: Callable[..., Done]) -> None:
    """--entity-default sets the cluster's, which every broker tells as a synonym."""
    done = configs(f"--alter {CLUSTER} --add-config max.connections=4000")
    assert "Completed updating default config for brokers in the cluster." in done.stdout

    shown = configs(f"--describe {CLUSTER}").stdout
    assert "max.connections=4000 sensitive=false" in shown
    assert "DYNAMIC_DEFAULT_BROKER_CONFIG:max.connections=4000" in shown
    whole = configs(f"--describe {BROKER} --all").stdout
    assert "  max.connections=4000 sensitive=false" in whole

    configs(f"--alter {CLUSTER} --delete-config max.connections")
    assert "max.connections" not in configs(f"--describe {CLUSTER}").stdout


def test_what_a_broker_refuses(configs: Callable[..., Done]) -> None:
    """The tool tells the broker's text and fails."""
    done = configs(f"--alter {BROKER} --add-config node.id=7", status=1)
    assert "Cannot update these configs dynamically: " in done.text

    done = configs(f"--alter {BROKER} --add-config max.connections=x", status=1)
    assert (
        "Invalid value x for configuration max.connections: Not a number of type INT" in done.text
    )


def test_secrets_have_no_value(configs: Callable[..., Done]) -> None:
    """Super users are no declared key of a broker's: they are told without their value."""
    configs(f"--alter {BROKER} --add-config super.users={SUPER_USERS}")

    shown = configs(f"--describe {BROKER}").stdout
    assert "super.users=null sensitive=true" in shown
    assert "ANONYMOUS" not in shown

    configs(f"--alter {BROKER} --delete-config super.users")


def test_of_a_topic(configs: Callable[..., Done], tools: KafkaTools, alone: Target) -> None:
    """A topic's settings change, and kafka-topics tells them beside the cluster's."""
    name = f"altered-{tools.version}"
    line = f"--create --topic {name}"
    tools.run("kafka-topics", *line.split(), "--bootstrap-server", alone.plain)
    topic = f"--entity-type topics --entity-name {name}"

    configs(f"--alter {topic} --add-config retention.ms=1000,cleanup.policy=[compact,delete]")
    shown = configs(f"--describe {topic}").stdout
    assert "retention.ms=1000 sensitive=false" in shown
    assert "cleanup.policy=compact,delete sensitive=false" in shown

    configs(f"--alter {topic} --delete-config retention.ms,cleanup.policy")
    words = f"--describe --topic {name}".split()
    told = tools.run("kafka-topics", *words, "--bootstrap-server", alone.plain).stdout
    assert "Configs: min.insync.replicas=1\n" in told


class Loading(threading.Thread):
    """One client of alice, who asks for all ACLs a few hundred times, over one session."""

    def __init__(self, client: Client, address: str) -> None:
        super().__init__(daemon=True)
        self._client = client
        self.name_of_client = client.name
        self._address = address
        self.ends: Counter[str] = Counter()
        self.failure: BaseException | None = None

    def run(self) -> None:
        asking = [("describe_acls", {"wanted": list(ANY)})] * ASKED
        try:
            results = self._client.talk(self._address, *asking, login=("alice", USERS["alice"]))
        except BaseException as error:  # noqa: BLE001  the test tells it
            self.failure = error
        else:
            self.ends.update(each.get("error", "allowed") for each in results)


def test_under_load(kafka_tools: Callable[[str], KafkaTools], alone: Target) -> None:
    """Two libraries ask while kafka-configs changes who may: answers of one state or the other.

    Nothing else happens to any of them: no time-out, no connection that ends.
    """
    tools = kafka_tools("4.3.1")
    kafka_python, confluent = (each for each in CLIENTS if each.name in REFUSALS)
    threads = [Loading(each, alone.sasl) for each in (kafka_python, kafka_python, confluent)]
    for thread in threads:
        thread.start()
    changes = 0
    while any(thread.is_alive() for thread in threads):
        users = f"{SUPER_USERS};User:alice" if changes % 2 == 0 else SUPER_USERS
        words = f"--alter {BROKER} --add-config super.users={users}".split()
        done = tools.run("kafka-configs", *words, "--bootstrap-server", alone.plain)
        assert done.status == 0, done
        changes += 1
    words = f"--alter {BROKER} --delete-config super.users".split()
    assert tools.run("kafka-configs", *words, "--bootstrap-server", alone.plain).status == 0

    for thread in threads:
        if isinstance(thread.failure, Unavailable):
            cannot(str(thread.failure))
        assert thread.failure is None
        refusal = REFUSALS[thread.name_of_client]
        assert thread.ends.keys() <= {"allowed", refusal}, thread.ends
        assert thread.ends.total() == ASKED
    assert {end for thread in threads for end in thread.ends} > {"allowed"}
    assert changes > 5
