"""Limits and listeners, from the settings to the edge."""

from __future__ import annotations

from doorkeeper.server.app.listeners import options_of
from doorkeeper.server.config.keys import KEYS
from doorkeeper.server.net.limits import REASONS, limits_of
from doorkeeper.server.security.contract import AuthenticationContext, Success
from testkit.plain import offers_of
from testkit.settings import settings_of

SASL = """
listeners=SASL://localhost:9093,CONTROLLER://:0
listener.security.protocol.map=SASL:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
sasl.enabled.mechanisms=PLAIN
listener.name.sasl.plain.connections.max.reauth.ms=5000
listener.name.controller.max.connections=3
listener.name.sasl.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="a";
"""


def test_every_configured_limit_is_used() -> None:
    configured = {name: reason.key.name for name, reason in REASONS.items() if reason.key}
    assert set(configured.values()) <= KEYS.keys()
    numbers = set(configured.values()) - {"max.connections.per.ip.overrides"}
    text = "".join(f"{key}=7\n" for key in numbers)

    limits = limits_of(settings_of(f"{text}max.connections.per.ip.overrides=h:7"))

    assert configured.pop("connections_per_ip_overrides")
    assert limits.connections_per_ip_overrides == {"h": 7}
    assert {getattr(limits, name) for name in configured} == {7}


async def test_listeners_are_configured() -> None:
    sasl, controller = [
        options_of(each, await offers_of(each)) for each in settings_of(SASL).listeners
    ]

    assert (sasl.name, sasl.host, sasl.port) == ("SASL", "localhost", 9093)
    assert sasl.security_protocol == "SASL_PLAINTEXT"
    assert sasl.security.mechanisms is not None
    assert list(sasl.security.mechanisms) == ["PLAIN"]
    assert sasl.security.mechanisms["PLAIN"].max_reauth_ms == 5000
    context = AuthenticationContext("SASL", "SASL_PLAINTEXT", "127.0.0.1")
    assert sasl.security.mechanisms["PLAIN"].begin(context).step(b"\0alice\0a") == Success("alice")
    assert controller.security.mechanisms is None
    assert controller.controller
    assert controller.max_connections == 3
