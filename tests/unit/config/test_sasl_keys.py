"""The keys of SASL."""

from doorkeeper.config.key import Applies, Scope
from doorkeeper.config.sasl_keys import SASL

KEYS = {key.name: key for key in SASL}


def test_which_prefixes_they_take() -> None:
    """Kafka reads keys of Kerberos for a listener, and those of OAUTHBEARER for a mechanism too."""
    scopes = {name: key.scope for name, key in KEYS.items()}

    assert scopes["sasl.enabled.mechanisms"] is Scope.LISTENER
    assert {s for n, s in scopes.items() if n.startswith("sasl.kerberos.")} == {Scope.LISTENER}
    assert {s for n, s in scopes.items() if n.startswith("sasl.oauth")} == {Scope.MECHANISM}


def test_they_are_read_again() -> None:
    """All but the bounds of the server's edge count after SIGHUP."""
    assert {name for name, key in KEYS.items() if key.applies is Applies.RESTART} == {
        "sasl.server.max.receive.size",
        "connection.failed.authentication.delay.ms",
    }
