"""From a file and overrides to settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from doorkeeper.server.app.config_check import warnings_of
from doorkeeper.server.config.keys import (
    AUTHORIZER_CLASS_NAME,
    BROKER_RACK,
    MAX_CONNECTIONS_PER_IP_OVERRIDES,
    SUPER_USERS,
)
from doorkeeper.server.config.loading import STANDARD_AUTHORIZER, load
from doorkeeper.server.config.store_keys import DATA_DIR
from testkit.settings import problems_of, settings_of, warnings_from

# The settings of the file that Kafka 4.3.1 ships, in its order.
KAFKAS_OWN_FILE = """
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,\
SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""


def test_without_a_file_every_local_client_is_a_super_user() -> None:
    settings, source = load(None)
    warnings = warnings_of(source)

    (listener,) = settings.listeners
    assert (listener.name, listener.host, listener.port) == ("PLAINTEXT", "localhost", 9092)
    assert settings[AUTHORIZER_CLASS_NAME] == STANDARD_AUTHORIZER
    assert settings[SUPER_USERS] == "User:ANONYMOUS"
    assert settings[DATA_DIR] == Path("data")
    (warning,) = warnings
    assert warning == (
        "no configuration file is given: everyone on this machine is an administrator"
        " (super.users=User:ANONYMOUS) (C905)"
    )


def test_empty_file_has_kafkas_defaults() -> None:
    """An empty file has Kafka's defaults: no authorizer, no super user, all interfaces."""
    settings, warnings = settings_of(""), warnings_from("")

    assert settings[AUTHORIZER_CLASS_NAME] == ""
    assert settings[SUPER_USERS] == ""
    assert settings.listeners[0].host == ""
    assert settings.node_id == 1
    (warning,) = warnings
    assert "the file has no keys" in warning


def test_kafkas_default_file_starts_unchanged() -> None:
    """The file that Kafka ships gives one warning, which lists what has no effect."""
    settings, warnings = settings_of(KAFKAS_OWN_FILE), warnings_from(KAFKAS_OWN_FILE)

    assert [listener.name for listener in settings.listeners] == ["PLAINTEXT", "CONTROLLER"]
    assert len(warnings) == 1
    assert warnings[0].startswith("Kafka keys that have no effect here: process.roles, ")


def test_all_errors_are_reported_at_once() -> None:
    problems = problems_of("num.partitons=3\nnum.partitions=x\n\ndelete.topic.enable=no\n")

    assert [problem.partition("server.properties ")[2] for problem in problems] == [
        "line 1: num.partitons: unknown key; did you mean num.partitions?",
        "line 2: num.partitions: found 'x'; allowed: a whole number from 1 to 2147483647",
        "line 4: delete.topic.enable: found 'no'; allowed: true or false",
    ]


def test_unknown_doorkeeper_key_stops_the_start() -> None:
    assert (
        "unknown key; see docs/reference/configuration.md"
        in problems_of("doorkeeper.htp.port=x")[0]
    )


@pytest.mark.parametrize("name", ["file", "env"])
def test_references_without_provider_are_rejected(name: str) -> None:
    (problem,) = problems_of(f"broker.rack=${{{name}:/secrets:rack}}\n")

    assert "config providers are not supported" in problem


def test_config_providers_are_rejected_when_used() -> None:
    indirect = "broker.rack=${vault:/secrets:rack}\n"

    assert settings_of(indirect)[BROKER_RACK] == "${vault:/secrets:rack}"
    problems = problems_of(f"config.providers=file\n{indirect}")
    assert "config providers are not supported" in problems[0]


def test_node_id() -> None:
    """node.id, else broker.id, else 1."""
    assert settings_of("node.id=5\nbroker.id=6").node_id == 5
    assert settings_of("broker.id=6").node_id == 6
    assert settings_of("broker.id=-1").node_id == 1
    assert "found '-5'; allowed: a whole number from 0" in problems_of("node.id=-5")[0]
    assert len(problems_of("node.id=five")) == 1


@pytest.mark.parametrize("escape", [r"\u0000", r"\ud800"])
def test_values_that_no_system_takes_are_errors(escape: str) -> None:
    """As paths they ended the start with a traceback."""
    (problem,) = problems_of(f"doorkeeper.data.dir=/data{escape}/x")

    text = r"found a NUL or half of a surrogate pair, written with \u; expected: a text"
    assert problem.endswith(f" line 1: doorkeeper.data.dir: {text}")
    # An argument of the command line that is not UTF-8 is a valid path.
    assert not problems_of("", "doorkeeper.data.dir=/data\udcff")


def test_connection_limits_by_address() -> None:
    """max.connections.per.ip.overrides gives numbers by host, IPv6 addresses included."""
    settings = settings_of("max.connections.per.ip.overrides=10.0.0.7:3, 0:0:0:0:0:0:0:1:0")

    assert settings[MAX_CONNECTIONS_PER_IP_OVERRIDES] == {"10.0.0.7": 3, "0:0:0:0:0:0:0:1": 0}
    problems = problems_of("max.connections.per.ip.overrides=10.0.0.7,h:2147483648")
    assert "found '10.0.0.7'; allowed: host:count" in problems[0]
    assert "found 'h:2147483648'" in problems[1]


def test_prefix_without_listener_is_a_warning() -> None:
    (warning,) = warnings_from("listener.name.client.max.connections=3\n")

    assert warning.endswith(
        "line 1: listener.name.client.max.connections: there is no listener CLIENT (C210)"
    )


def test_upper_case_prefix_is_a_warning() -> None:
    text = (
        "listeners=SECURE://:9093\nlistener.security.protocol.map=SECURE:PLAINTEXT\n"
        "inter.broker.listener.name=SECURE\nlistener.name.SECURE.ssl.client.auth=required\n"
    )

    (warning,) = warnings_from(text)

    assert warning.endswith(
        "listener.name.SECURE.ssl.client.auth: has no effect: write the prefix"
        " listener.name.secure in lower case (C210)"
    )
