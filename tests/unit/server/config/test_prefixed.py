"""The values that hold for a listener, or for a mechanism of it."""

from __future__ import annotations

from testkit.settings import settings_of

FILE = """
listeners=A://localhost:1,B://localhost:2
listener.security.protocol.map=A:SASL_PLAINTEXT,B:SASL_PLAINTEXT
sasl.enabled.mechanisms=OAUTHBEARER,SCRAM-SHA-256
sasl.oauthbearer.expected.issuer=everywhere
listener.name.a.sasl.oauthbearer.expected.issuer=a
listener.name.a.oauthbearer.sasl.oauthbearer.expected.issuer = a oauth
listener.name.a.ssl.client.auth=required
listener.name.a.oauthbearer.sasl.login.class=com.example.Login
listener.name.a.oauthbearer.ssl.client.auth=none
"""


def test_most_specific_prefix_is_used() -> None:
    a, b = settings_of(FILE).listeners
    oauth, scram = a.mechanisms
    issuer = "sasl.oauthbearer.expected.issuer"

    assert oauth.values[issuer] == "a oauth"
    assert oauth.given_as[issuer] == f"listener.name.a.oauthbearer.{issuer}"
    assert scram.values[issuer] == a.values[issuer] == "a"
    assert a.given_as[issuer] == f"listener.name.a.{issuer}"
    assert b.mechanisms[0].values[issuer] == "everywhere"
    assert b.values["sasl.oauthbearer.scope.claim.name"] == "scope"
    assert "sasl.oauthbearer.scope.claim.name" not in b.given_as


def test_login_modules_are_not_exposed() -> None:
    settings = settings_of(
        FILE + "listener.name.a.scram-sha-256.sasl.jaas.config=m required password=hush;"
    )
    scram = settings.listeners[0].mechanisms[1]

    assert scram.login_module is not None
    assert "sasl.jaas.config" not in scram.values
    assert "hush" not in repr(settings.listeners)
