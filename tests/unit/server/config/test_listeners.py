"""Kafka's rules between listeners, addresses and protocols."""

from __future__ import annotations

import pytest

from doorkeeper.server.config.keys import MAX_CONNECTIONS
from testkit.settings import problems_of, settings_of

DOTTED = "listener.security.protocol.map=A.B:SASL_PLAINTEXT\nlistener.name.a.b"
BOTH = "listeners=A://localhost:1,B://localhost:2\nlistener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT\n"


def test_listener_has_its_address() -> None:
    (listener,) = settings_of("listeners=PLAINTEXT://h.example:9092").listeners

    assert (listener.name, listener.security_protocol) == ("PLAINTEXT", "PLAINTEXT")
    assert (listener.host, listener.port) == ("h.example", 9092)
    assert (listener.advertised_host, listener.advertised_port) == ("h.example", 9092)
    assert not listener.authenticates
    assert not listener.controller


def test_listener_names_are_upper_case() -> None:
    """A listener's name is written in any case, as for Kafka."""
    settings = settings_of(
        "listeners=client://[::1]:9092\nlistener.security.protocol.map=Client:plaintext"
    )

    assert [(each.name, each.host) for each in settings.listeners] == [("CLIENT", "::1")]


def test_controller_listener() -> None:
    settings = settings_of(
        "listeners=PLAINTEXT://localhost:1,CONTROLLER://localhost:2\n"
        "controller.listener.names=CONTROLLER"
    )

    assert settings.controller_listener_names == {"CONTROLLER"}
    assert settings.early_start_listeners == {"CONTROLLER"}
    assert settings.inter_broker_listener_name == "PLAINTEXT"


def test_inter_broker_listener() -> None:
    assert settings_of(f"{BOTH}inter.broker.listener.name=b").inter_broker_listener_name == "B"
    assert settings_of(BOTH).inter_broker_listener_name == "A"
    spoken = "listener.security.protocol.map=A:SASL_PLAINTEXT,B:PLAINTEXT"
    login = (
        "listener.name.a.sasl.enabled.mechanisms=PLAIN\nlistener.name.a.plain.sasl.jaas.config="
        'org.apache.kafka.common.security.plain.PlainLoginModule required user_a="b";'
    )
    mixed = settings_of(f"listeners=A://:1,B://:2\n{spoken}\n{login}")
    assert mixed.inter_broker_listener_name == "B"
    given = f"listeners=A://:1,B://:2\n{spoken}\n{login}\nsecurity.inter.broker.protocol="
    assert settings_of(f"{given}SASL_PLAINTEXT").inter_broker_listener_name == "A"
    assert settings_of(f"{given}PLAINTEXT").inter_broker_listener_name == "B"


def test_max_connections_of_a_listener() -> None:
    """With the prefix the limit is the listener's own; without, the whole server's."""
    settings = settings_of(f"{BOTH}max.connections=10\nlistener.name.b.max.connections=3")

    assert settings[MAX_CONNECTIONS] == 10
    assert [each.max_connections for each in settings.listeners] == [2**31 - 1, 3]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("listeners=", "no listener is given"),
        ("listeners=ß://localhost:9092", "found 'ß://localhost:9092'; allowed: NAME://host:port"),
        ("listeners=localhost:9092", "found 'localhost:9092'; allowed: NAME://host:port"),
        ("listeners=PLAINTEXT://h:65536", "found 'PLAINTEXT://h:65536'"),
        ("listeners=PLAINTEXT://h:-1", "found 'PLAINTEXT://h:-1'"),
        # The prefix of its keys would end at any of the dots.
        (
            f"listeners=A.B://h:1\n{DOTTED}.plain.sasl.jaas.config=M required;",
            "found 'A.B://h:1'; allowed: NAME://host:port, with a name without a dot",
        ),
        ("listeners=PLAINTEXT://h:1,plaintext://h:2", "the name PLAINTEXT is used twice"),
        (BOTH.replace(":2", ":1"), "port 1 is used by A and B"),
        ("listeners=A://h:1", "listener.security.protocol.map: no entry for listener A"),
        ("listener.security.protocol.map=A:TLS", "found 'A:TLS'; allowed: NAME:PROTOCOL"),
        (
            "listeners=PLAINTEXT://0.0.0.0:1",
            "clients cannot connect to 0.0.0.0: set advertised.listeners=PLAINTEXT://",
        ),
        (f"{BOTH}advertised.listeners=C://h:1", "C is not in listeners (A, B)"),
        (
            f"{BOTH}controller.listener.names=B\nadvertised.listeners=B://h:1",
            "B is a controller listener",
        ),
        (f"{BOTH}controller.listener.names=A,B", "all listeners are controller listeners"),
        (f"{BOTH}early.start.listeners=C", "C is not in listeners (A, B)"),
        (
            f"{BOTH}inter.broker.listener.name=C",
            "found 'C'; allowed: an advertised listener (A, B)",
        ),
        (f"{BOTH}security.inter.broker.protocol=SSL", "found 'SSL'; allowed: an advertised"),
        (
            f"{BOTH}inter.broker.listener.name=A\nsecurity.inter.broker.protocol=SSL",
            "give either this or inter.broker.listener.name, not both",
        ),
    ],
)
def test_invalid_listeners_stop_the_start(text: str, said: str) -> None:
    problems = problems_of(text)

    assert [problem for problem in problems if said in problem], problems


def test_one_fault_is_one_problem() -> None:
    """The value in its place, which nobody has written, is not another one."""
    text = "listeners=A://h:1\nlistener.security.protocol.map=A:SSL\n"

    assert len(problems_of(f"{text}security.inter.broker.protocol=FOO")) == 1
