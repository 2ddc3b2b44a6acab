"""What a connection and its shell tell each other."""

from __future__ import annotations

from doorkeeper.exchange import UPDATES, Peer
from doorkeeper.node import (
    AlterConfigs,
    AlterCredentials,
    ChangeToken,
    ChangeTopics,
    CreateAcls,
    DeleteAcls,
)


def test_a_peer_is_described_as_a_broker_does() -> None:
    """The text of refusals names the connection, the listener and the protocol."""
    peer = Peer("127.0.0.1:9092-127.0.0.1:5-0-1", "127.0.0.1", "SASL", "SASL_PLAINTEXT", number=255)

    assert peer.description == (
        "Request(processor=0, connectionId=127.0.0.1:9092-127.0.0.1:5-0-1,"
        " session=org.apache.kafka.network.Session@ff, listenerName=ListenerName(SASL),"
        " securityProtocol=SASL_PLAINTEXT, buffer=null, envelope=None)"
    )


def test_updates_are_the_outcomes_that_are_no_answers() -> None:
    """All of them are done by the shell before there is an answer."""
    outcomes = {CreateAcls, DeleteAcls, ChangeTopics, AlterConfigs, AlterCredentials, ChangeToken}
    assert outcomes == UPDATES
