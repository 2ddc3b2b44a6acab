"""``doorkeeper learn --bootstrap-server``: the ACLs of applications that work with a broker 4.3.1.

They are those that the same applications need on a Doorkeeper.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from doorkeeper.acl.formats.choosing import Format, read
from testkit.applications import APPLICATION, PRINCIPAL, TOPIC, prepare, run
from testkit.kafka_jars import Unavailable, cannot
from testkit.kafka_target import Target, kafka_target

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUICK = ("kafka-python producer", "aiokafka consumer", "librdkafka exactly once")
"""Each library once; the others are slow."""


@pytest.fixture(scope="module")
def broker() -> Iterator[Target]:
    """Give a broker on which the user of the applications may do everything."""
    try:
        running = kafka_target("4.3.1", super_users=f"User:ANONYMOUS;{PRINCIPAL}")
    except Unavailable as missing:
        cannot(str(missing))
    yield running
    running.close()


class Tap:
    """``doorkeeper learn`` in front of an address, until its end."""

    def __init__(self, address: str, *words: str) -> None:
        command = ("-m", "doorkeeper", "learn", "--bootstrap-server", address, *words)
        self._process = subprocess.Popen(
            [sys.executable, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        self.notice = self._process.stderr.readline()
        self.address = self.notice.partition("tap on ")[2].partition(",")[0]

    def end(self) -> tuple[str, str]:
        """Send SIGINT; return what it printed."""
        self._process.send_signal(signal.SIGINT)
        return self._process.communicate(timeout=60)


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=() if each in QUICK else pytest.mark.slow) for each in APPLICATION],
)
def test_an_application_in_front_of_a_broker(name: str, broker: Target, tmp_path: Path) -> None:
    """It works through the tap, and all its requests are known by its own principal."""
    tap = Tap(broker.sasl, "--output", "yaml")

    outcome = run(APPLICATION[name], tap.address, broker.plain, tmp_path)
    acls, notes = tap.end()

    assert outcome.done, outcome.text
    assert notes == ""
    assert read(acls, Format.YAML) == sorted(APPLICATION[name].needs)


def test_a_command_without_a_login(broker: Target) -> None:
    """It finds the tap in its environment; --principal names those that do not log in."""
    prepare(broker.plain)
    code = (
        "import os; from kafka import KafkaProducer;"
        "p = KafkaProducer(bootstrap_servers=os.environ['KAFKA_BOOTSTRAP_SERVERS'], acks=0);"
        f"p.send('{TOPIC}', b'an order').get(10); p.close(); raise SystemExit(3)"
    )
    words = ("learn", "--principal", "User:svc", "--bootstrap-server", broker.plain, "--")
    done = subprocess.run(
        [sys.executable, "-m", "doorkeeper", *words, sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 3, done.stderr
    assert done.stdout.splitlines()[1:] == [f"User:svc,TOPIC,LITERAL,{TOPIC},WRITE,ALLOW,*"]


def test_a_broker_that_is_not_there() -> None:
    """A line says so; the client sees a connection that ends."""
    code = (
        "import os, socket; host, port = os.environ['KAFKA_BOOTSTRAP_SERVERS'].split(':');"
        "print(socket.create_connection((host, int(port))).recv(1))"
    )
    words = ("learn", "--bootstrap-server", "127.0.0.1:1", "--", sys.executable, "-c", code)

    done = subprocess.run(
        [sys.executable, "-m", "doorkeeper", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "b''\n")
    assert "doorkeeper: 127.0.0.1:1: " in done.stderr
    assert "Traceback" not in done.stderr
