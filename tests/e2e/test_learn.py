"""``doorkeeper learn`` with a producer and a consumer of kafka-python, and its way to end."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from doorkeeper.acls.formats.choosing import Format, read, write
from doorkeeper.acls.model import AclBinding, ResourcePattern, ResourceType
from doorkeeper.cli.learn.present import NOT_COMPARED
from testkit.acl import READ, WRITE, allow, topic
from testkit.e2e import doorkeeper
from testkit.load import scaled

CLIENT = """
import os
from kafka import KafkaConsumer, KafkaProducer

address = os.environ["KAFKA_BOOTSTRAP_SERVERS"]
producer = KafkaProducer(bootstrap_servers=address, max_block_ms=5000)
producer.send("orders", b"an order").get(5)
producer.close()
consumer = KafkaConsumer(
    "orders",
    bootstrap_servers=address,
    group_id="readers",
    auto_offset_reset="earliest",
    consumer_timeout_ms=10000,
)
print(next(consumer).value.decode())
consumer.close()
"""
TOPICS = "version: 1\ntopics:\n  - name: orders\n    partitions: 1\n"
NEEDED = [
    allow("svc", READ, topic("orders")),
    allow("svc", WRITE, topic("orders")),
    allow("svc", READ, ResourcePattern(ResourceType.GROUP, "readers", topic("").pattern_type)),
]


def learn(*words: object) -> subprocess.CompletedProcess[str]:
    """Run ``doorkeeper learn`` to its end."""
    return doorkeeper(Path.cwd(), "learn", *map(str, words))


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    """Return a file with the topic."""
    path = tmp_path / "topics.yaml"
    path.write_text(TOPICS, encoding="utf-8")
    return path


def check(bindings: list[AclBinding], topics: Path) -> subprocess.CompletedProcess[str]:
    """Run the client with exactly these ACLs."""
    acls = topics.with_name("acls.yaml")
    acls.write_text(write(bindings, Format.YAML), encoding="utf-8")
    words = ("--principal", "User:svc", "--topics", topics, "--check", acls)
    return learn(*words, "--", sys.executable, "-c", CLIENT)


def test_minimal_acls_of_producer_and_consumer(tmp_path: Path, topics: Path) -> None:
    acls = tmp_path / "learnt.yaml"
    words = ("--principal", "User:svc", "--topics", topics, "--output", "yaml", "--out", acls)

    learnt = learn(*words, "--", sys.executable, "-c", CLIENT)

    note = f"doorkeeper: {NOT_COMPARED}\n"
    assert (learnt.returncode, learnt.stdout, learnt.stderr) == (0, "an order\n", note)
    text = acls.read_text(encoding="utf-8")
    assert read(text, name=acls.name) == NEEDED
    assert "# Produce: WRITE (1 time), " in text

    checked = check(NEEDED, topics)

    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "an order\n", "")


def test_missing_acl_is_reported(topics: Path) -> None:
    """The status is 1, and the ACL that the refused request needs is printed.

    An idempotent producer is refused before it names its topic.
    """
    checked = check([each for each in NEEDED if each != NEEDED[1]], topics)
    assert checked.returncode == 1
    assert "doorkeeper: missing ACLs: 1" in checked.stderr
    row = "User:svc,CLUSTER,LITERAL,kafka-cluster,IDEMPOTENT_WRITE,ALLOW,*"
    assert row in checked.stdout.splitlines()
    assert "note: IDEMPOTENT_WRITE is listed because a producer" in checked.stderr


def test_acls_for_other_hosts_are_not_checked(topics: Path) -> None:
    """They cannot apply to a client on this machine: nothing is known of their need."""
    elsewhere = allow("svc", WRITE, topic("orders"), host="10.0.0.5")

    checked = check([NEEDED[0], elsewhere, *NEEDED[2:]], topics)

    assert checked.returncode == 1
    assert "10.0.0.5" not in checked.stderr
    note = "note: 1 ACLs for hosts other than 127.0.0.1 cannot apply here, and were not checked"
    assert note in checked.stderr


def test_command_that_fails_is_noted(topics: Path) -> None:
    """What it would have done later is unknown."""
    failing = CLIENT.replace("consumer = ", "raise SystemExit(3)\nconsumer = ")

    learnt = learn("--topics", topics, "--", sys.executable, "-c", failing)

    assert learnt.returncode == 3
    assert "WRITE" in learnt.stdout
    assert "note: COMMAND ended with status 3: what it would have done otherwise" in learnt.stderr


def test_exit_status_of_the_command_is_passed_on() -> None:
    killed = learn("--", sys.executable, "-c", "import os; os.kill(os.getpid(), 9)")
    assert killed.returncode == 128 + signal.SIGKILL


def test_signals_are_passed_on() -> None:
    """SIGTERM reaches the command, which ends as it likes."""
    code = (
        "import signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\n"
        "print('ready', flush=True)\n"
        "while True: signal.pause()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-m", "doorkeeper", "learn", "--", sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

        process.send_signal(signal.SIGTERM)

        assert process.wait(scaled(60)) == 5
