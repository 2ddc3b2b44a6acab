"""What a connection and its channel exchange."""

from __future__ import annotations

from doorkeeper.connection.exchange import Peer


def test_a_peer_is_described_as_a_broker_does() -> None:
    """The text of refusals names the connection, the listener and the protocol."""
    peer = Peer("127.0.0.1:9092-127.0.0.1:5-0-1", "127.0.0.1", "SASL", "SASL_PLAINTEXT", number=255)

    assert peer.description == (
        "Request(processor=0, connectionId=127.0.0.1:9092-127.0.0.1:5-0-1,"
        " session=org.apache.kafka.network.Session@ff, listenerName=ListenerName(SASL),"
        " securityProtocol=SASL_PLAINTEXT, buffer=null, envelope=None)"
    )
