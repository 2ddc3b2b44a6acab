"""The keys of TLS."""

from doorkeeper.config.key import Applies, Scope
from doorkeeper.config.tls_keys import TLS
from testkit.settings import problems_of

STORES = ("keystore", "truststore")


def test_all_are_a_listeners_and_read_again() -> None:
    """Each may stand behind a listener and counts after SIGHUP; stores change over the wire too."""
    assert {key.scope for key in TLS} == {Scope.LISTENER}
    stores = {f"ssl.{store}.{what}" for store in STORES for what in ("location", "type")}
    assert {key.name for key in TLS if key.applies is Applies.DYNAMIC} == stores
    assert {key.applies for key in TLS if key.name not in stores} == {Applies.RELOAD}


def test_client_auth() -> None:
    """One of three words, in lower case as Kafka has them."""
    assert problems_of("listener.name.x.ssl.client.auth=requested") == []
    (problem,) = problems_of("ssl.client.auth=Required")
    assert "allowed: required or requested or none" in problem
