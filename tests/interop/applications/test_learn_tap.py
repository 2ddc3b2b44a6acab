"""``doorkeeper learn --bootstrap-server``: the ACLs of applications that work with a broker 4.3.1.

They are those that the same applications need on a Doorkeeper.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from doorkeeper.acls.formats.choosing import Format, read
from doorkeeper.cli.learn.present import NOT_COMPARED
from testkit.applications import APPLICATION, PRINCIPAL, TOPIC, prepare, run
from testkit.kafka_target import Target, kafka_target
from testkit.learn_tap import Tap
from testkit.load import scaled
from testkit.or_skip import or_skip

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUICK = ("kafka-python producer", "aiokafka consumer", "librdkafka exactly once")
"""Each library once; the others are slow."""


@pytest.fixture(scope="module")
def broker() -> Iterator[Target]:
    """Give a broker on which the user of the applications may do everything."""
    running = or_skip(lambda: kafka_target("4.3.1", super_users=f"User:ANONYMOUS;{PRINCIPAL}"))
    yield running
    running.close()


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
    assert notes == f"doorkeeper: {NOT_COMPARED}\n"
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
        timeout=scaled(60),
        check=False,
    )

    assert done.returncode == 3, done.stderr
    assert done.stdout.splitlines()[1:] == [f"User:svc,TOPIC,LITERAL,{TOPIC},WRITE,ALLOW,*"]
