"""How clients of a listener prove who they are."""

from __future__ import annotations

from doorkeeper.authn.contract import AuthenticationContext, Success
from doorkeeper.authn.principals import DefaultPrincipalBuilder
from testkit.plain import offers_of
from testkit.settings import settings_of

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
