"""How clients of a listener prove who they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.app.doors import tls_of, tls_values
from doorkeeper.authn.contract import AuthenticationContext, Success
from doorkeeper.authn.principals import DefaultPrincipalBuilder
from testkit.certificates import world
from testkit.plain import offers_of
from testkit.settings import settings_of

if TYPE_CHECKING:
    from pathlib import Path

TWO = """
listeners=OPEN://localhost:9092,SASL://localhost:9093
listener.security.protocol.map=OPEN:PLAINTEXT,SASL:SASL_PLAINTEXT
inter.broker.listener.name=OPEN
sasl.enabled.mechanisms=PLAIN
listener.name.sasl.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="a" username="b" \
password="c";
"""


async def test_each_listener_offers_its_own() -> None:
    """Mechanisms where there is SASL, with the users of its login module and no others."""
    in_clear, sasl = [await offers_of(each) for each in settings_of(TWO).listeners]

    assert in_clear.mechanisms is None
    assert isinstance(in_clear.builder, DefaultPrincipalBuilder)
    assert sasl.mechanisms is not None
    context = AuthenticationContext("SASL", "SASL_PLAINTEXT", "127.0.0.1")
    begin = sasl.mechanisms["PLAIN"].begin
    assert begin(context).step(b"\0alice\0a") == Success("alice")
    assert not isinstance(begin(context).step(b"\0b\0c"), Success)


def test_the_keys_of_tls_are_the_listeners_own(tmp_path: Path) -> None:
    """Each listener that speaks TLS has a context of its keys; a wrong one names its whole key."""
    server = world().server.write_pem(tmp_path / "server.pem")
    a, b = settings_of(
        f"""
listeners=A://localhost:9092,B://localhost:9093
listener.security.protocol.map=A:SSL,B:SSL
inter.broker.listener.name=A
ssl.keystore.type=PEM
ssl.keystore.location={server}
listener.name.b.ssl.keystore.location={tmp_path / "missing.pem"}
listener.name.b.ssl.client.auth=none
"""
    ).listeners

    assert tls_of(a).context.get_ciphers()
    with pytest.raises(ValueError, match=r"^listener\.name\.b\.ssl\.keystore\.location: "):
        tls_of(b)
    assert tls_values(a) != tls_values(b)
