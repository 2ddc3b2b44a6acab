"""What the answers of brokers tell of a login."""

from __future__ import annotations

import pytest

from doorkeeper.cli.whoami.live import principal_in

BEGIN = "Request Request(processor=4, connectionId=127.0.0.1:41263-127.0.0.1:52624-0, session="
END = ", listenerName=ListenerName(SASL), securityProtocol=SSL, buffer=null) is not authorized."


@pytest.mark.parametrize(
    ("session", "principal"),
    [
        ("Session(User:bob,/127.0.0.1)", "User:bob"),
        ("Session(User:bob,client-1.example.com/10.0.0.7)", "User:bob"),
        ("Session(User:CN=a,O=b (c),/0:0:0:0:0:0:0:1)", "User:CN=a,O=b (c)"),
        ("org.apache.kafka.network.Session@28a072d5", None),
    ],
)
def test_principal_in_authorization_error(session: str, principal: str | None) -> None:
    """Brokers before 3.9 name it, later ones an object."""
    assert principal_in(f"{BEGIN}{session}{END}") == principal
