"""What a connection and its channel exchange."""

from __future__ import annotations

import pytest

from doorkeeper.connection.exchange import Peer


@pytest.mark.parametrize(("release", "envelope"), [("4.3", "None"), ("4.4", "Optional.empty")])
def test_a_peer_is_described_as_a_broker_does(release: str, envelope: str) -> None:
    """The text of refusals names the connection, the listener and the protocol."""
    peer = Peer("127.0.0.1:9092-127.0.0.1:5-0-1", "127.0.0.1", "SASL", "SASL_PLAINTEXT", number=255)

    assert peer.description(release) == (
        "Request(processor=0, connectionId=127.0.0.1:9092-127.0.0.1:5-0-1,"
        " session=org.apache.kafka.network.Session@ff, listenerName=ListenerName(SASL),"
        f" securityProtocol=SASL_PLAINTEXT, buffer=null, envelope={envelope})"
    )
