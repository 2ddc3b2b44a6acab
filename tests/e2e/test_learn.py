"""``doorkeeper learn`` with a producer and a consumer of kafka-python, and its way to end."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from doorkeeper.acl.formats.choosing import Format, read, write
from doorkeeper.acl.model import AclBinding, ResourcePattern, ResourceType
from testkit.acl import DESCRIBE, READ, WRITE, allow, topic

if TYPE_CHECKING:
    from pathlib import Path

LEARN = (sys.executable, "-m", "doorkeeper", "learn")
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
CATALOG = "topics:\n  - name: orders\n    partitions: 1\n"
NEEDED = [
    allow("svc", READ, topic("orders")),
    allow("svc", WRITE, topic("orders")),
    allow("svc", READ, ResourcePattern(ResourceType.GROUP, "readers", topic("").pattern_type)),
]


def learn(*words: object) -> subprocess.CompletedProcess[str]:
    """Run ``doorkeeper learn`` to its end."""
    return subprocess.run(
        [*LEARN, *map(str, words)], check=False, capture_output=True, text=True, timeout=120
    )


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    """Return the file of a catalog with the topic."""
    path = tmp_path / "topics.yaml"
    path.write_text(CATALOG, encoding="utf-8")
    return path


def check(bindings: list[AclBinding], catalog: Path) -> subprocess.CompletedProcess[str]:
    """Run the client with exactly these ACLs."""
    acls = catalog.with_name("acls.yaml")
    acls.write_text(write(bindings, Format.YAML), encoding="utf-8")
    words = ("--principal", "User:svc", "--catalog", catalog, "--check", acls)
    return learn(*words, "--", sys.executable, "-c", CLIENT)


def test_the_least_acls_of_a_producer_and_a_consumer(tmp_path: Path, catalog: Path) -> None:
    """READ and WRITE on the topic, READ on the group; the client works with exactly these."""
    acls = tmp_path / "learnt.yaml"
    words = ("--principal", "User:svc", "--catalog", catalog, "--output", "yaml", "--to", acls)

    learnt = learn(*words, "--", sys.executable, "-c", CLIENT)

    assert (learnt.returncode, learnt.stdout, learnt.stderr) == (0, "an order\n", "")
    text = acls.read_text(encoding="utf-8")
    assert read(text, name=acls.name) == NEEDED
    assert "# Produce: WRITE (1 time), " in text

    checked = check(NEEDED, catalog)

    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "an order\n", "")


@pytest.mark.parametrize(
    ("missing", "row"),
    [
        (NEEDED[0], "User:svc,TOPIC,LITERAL,orders,READ,ALLOW,*"),
        # An idempotent producer is refused before it names its topic.
        (NEEDED[1], "User:svc,CLUSTER,LITERAL,kafka-cluster,IDEMPOTENT_WRITE,ALLOW,*"),
        (NEEDED[2], "User:svc,GROUP,LITERAL,readers,DESCRIBE,ALLOW,*"),
    ],
    ids=["topic-read", "topic-write", "group-read"],
)
def test_without_one_of_them_something_is_refused(
    missing: AclBinding, row: str, catalog: Path
) -> None:
    """The status is 1, and the ACL that the refused request needs is printed."""
    checked = check([each for each in NEEDED if each != missing], catalog)

    assert checked.returncode == 1
    assert "doorkeeper: 1 missing" in checked.stderr
    assert row in checked.stdout.splitlines()
    is_unnamed = "IDEMPOTENT_WRITE" in row
    assert ("note: IDEMPOTENT_WRITE is for a producer" in checked.stderr) is is_unnamed


def test_acls_that_are_never_needed_are_listed(catalog: Path) -> None:
    """An ACL on another topic, and one that READ and WRITE imply."""
    others = [allow("svc", READ, topic("payments")), allow("svc", DESCRIBE, topic("orders"))]

    checked = check(NEEDED + others, catalog)

    assert checked.returncode == 0
    assert checked.stderr == (
        "doorkeeper: never needed: User:svc,TOPIC,LITERAL,orders,DESCRIBE,ALLOW,*\n"
        "doorkeeper: never needed: User:svc,TOPIC,LITERAL,payments,READ,ALLOW,*\n"
    )


def test_a_topic_that_does_not_exist_needs_create() -> None:
    """A note says so, since the topic may exist where the ACLs will be."""
    learnt = learn("--principal", "User:svc", "--", sys.executable, "-c", CLIENT)

    assert "User:svc,TOPIC,LITERAL,orders,CREATE,ALLOW,*" in learnt.stdout.splitlines()
    assert "note: CREATE is needed because topics did not exist: orders" in learnt.stderr


def test_the_status_of_the_command_is_passed_on() -> None:
    """Also where a signal ended it."""
    assert learn("--", sys.executable, "-c", "raise SystemExit(7)").returncode == 7
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
        [*LEARN, "--", sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

        process.send_signal(signal.SIGTERM)

        assert process.wait(60) == 5


def test_a_command_that_cannot_be_started() -> None:
    """It is an error of one line, with the status of a shell."""
    learnt = learn("--", "/no/such/command")

    assert learnt.returncode == 127
    assert learnt.stderr == "doorkeeper: /no/such/command: No such file or directory\n"
