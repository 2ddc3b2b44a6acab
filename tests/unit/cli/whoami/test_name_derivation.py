"""The principal that a listener gives a client, rule by rule.

Certificates and Kerberos names at random are compared with Kafka's own classes, and with a broker,
in tests/conformance and tests/interop/logins.
"""

from __future__ import annotations

import pytest

from doorkeeper.base.config_errors import ConfigError
from doorkeeper.cli.whoami.name_derivation import (
    BearerToken,
    Certificate,
    Credential,
    Derivation,
    NotForListener,
    Outcome,
    Ticket,
    UserName,
    derive,
)
from doorkeeper.server.config.loading import load_values

ALICE = Certificate("CN=alice,OU=ServiceUsers,C=DE")
SIGNED = BearerToken({"sub": " s-1 ", "preferred_username": "alice", "n": 1}, is_signed=True)
UNSIGNED = BearerToken({"sub": "s-1", "name": "alice"}, is_signed=False)
KAFKA = "org.apache.kafka.common.security.oauthbearer"
HANDLER = "sasl.server.callback.handler.class"
SIGNED_HANDLER = f"{HANDLER}={KAFKA}.OAuthBearerValidatorCallbackHandler"
UNSIGNED_HANDLER = (
    f"{HANDLER}={KAFKA}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
)
OAUTH = "listener.name.clients.oauthbearer"
LOGIN_MODULE = (
    f'{KAFKA}.OAuthBearerLoginModule required unsecuredValidatorPrincipalClaimName="name";'
)
BUILDER = "principal.builder.class=org.example.Builder"
REQUIRED = "ssl.client.auth=required"


def derived(protocol: str, credential: Credential, *keys: str) -> Derivation:
    """Return what a listener of a broker makes of a credential; other problems do not matter."""
    values = {
        "listeners": "CLIENTS://localhost:9092",
        "listener.security.protocol.map": f"CLIENTS:{protocol}",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512,OAUTHBEARER,GSSAPI",
        **dict(key.split("=", 1) for key in keys),
    }
    try:
        settings = load_values(values, "broker.properties").settings
    except ConfigError as error:
        settings = error.settings
    return derive(settings.listeners[0], credential)


@pytest.mark.parametrize(
    ("protocol", "credential", "keys", "principal"),
    [
        ("PLAINTEXT", ALICE, (), "User:ANONYMOUS"),
        ("PLAINTEXT", UserName("alice"), (), "User:ANONYMOUS"),
        ("SSL", ALICE, (), "User:ANONYMOUS"),
        ("SSL", ALICE, (REQUIRED,), "User:CN=alice,OU=ServiceUsers,C=DE"),
        ("SSL", ALICE, ("ssl.client.auth=requested",), "User:CN=alice,OU=ServiceUsers,C=DE"),
        (
            "SSL",
            ALICE,
            (
                f"listener.name.clients.{REQUIRED}",
                "ssl.principal.mapping.rules=DEFAULT",
                "listener.name.clients.ssl.principal.mapping.rules=RULE:^CN=(.*?),.*$/$1/U",
            ),
            "User:ALICE",
        ),
        ("SASL_SSL", UserName("Alice"), (), "User:Alice"),
        ("SASL_PLAINTEXT", UserName("alice", "SCRAM-SHA-512"), (), "User:alice"),
        ("SASL_PLAINTEXT", Ticket("alice/admin@A"), (), "User:alice"),
        ("SASL_PLAINTEXT", Ticket("alice@A", "A"), (), "User:alice"),
        (
            "SASL_PLAINTEXT",
            Ticket("alice/admin@A"),
            ("sasl.kerberos.principal.to.local.rules=RULE:[1:$1],RULE:[2:$1.$2]/U",),
            "User:ALICE.ADMIN",
        ),
        ("SASL_SSL", SIGNED, (SIGNED_HANDLER,), "User:s-1"),
        ("SASL_SSL", SIGNED, (), "User:s-1"),
        (
            "SASL_SSL",
            SIGNED,
            (
                SIGNED_HANDLER,
                f"{OAUTH}.sasl.oauthbearer.sub.claim.name=preferred_username",
            ),
            "User:alice",
        ),
        ("SASL_SSL", UNSIGNED, (), "User:s-1"),
        (
            "SASL_SSL",
            UNSIGNED,
            (
                UNSIGNED_HANDLER,
                f"{OAUTH}.sasl.jaas.config={LOGIN_MODULE}",
            ),
            "User:alice",
        ),
    ],
)
def test_derived_principals_match_kafka(
    protocol: str, credential: Credential, keys: tuple[str, ...], principal: str
) -> None:
    """What Kafka's own classes make of each credential."""
    found = derived(protocol, credential, *keys)

    assert (found.outcome, found.principal) == (Outcome.PRINCIPAL, principal)


@pytest.mark.parametrize(
    ("protocol", "credential", "keys", "reason"),
    [
        ("SASL_SSL", UserName("a", "SCRAM-SHA-256"), (), "does not offer SCRAM-SHA-256"),
        (
            "SASL_SSL",
            UserName("a"),
            ("listener.name.clients.sasl.enabled.mechanisms=GSSAPI",),
            "listener.name.clients.sasl.enabled.mechanisms: GSSAPI",
        ),
        ("SSL", ALICE, (REQUIRED, "ssl.principal.mapping.rules=RULE:CN=b/b/"), "no rule matches"),
        ("SSL", ALICE, (REQUIRED, "ssl.principal.mapping.rules="), "no rule matches"),
        (
            "SSL",
            ALICE,
            (REQUIRED, "ssl.principal.mapping.rules=RULE:CN=b/b/,RULE:(.*)/$/,DEFAULT"),
            "RULE:(.*)/$/ fails: the replacement has a $ without a group",
        ),
        ("SASL_SSL", Ticket("alice"), (), "has no realm"),
        ("SASL_SSL", Ticket("a/b/c@R"), (), "Malformed Kerberos name"),
        ("SASL_SSL", Ticket("alice@A", "B"), (), "no rule applies to alice@A"),
        (
            "SASL_SSL",
            Ticket("alice@A"),
            ("sasl.kerberos.principal.to.local.rules=RULE:[1:$1@$0]",),
            "Non-simple name alice@A",
        ),
        ("SASL_SSL", UNSIGNED, (SIGNED_HANDLER,), "is not signed"),
        ("SASL_SSL", SIGNED, (UNSIGNED_HANDLER,), "takes unsigned tokens only"),
        (
            "SASL_SSL",
            SIGNED,
            ("sasl.oauthbearer.sub.claim.name=upn",),
            "upn: the claim upn is missing",
        ),
        ("SASL_SSL", SIGNED, ("sasl.oauthbearer.sub.claim.name=n",), "the claim n is not a string"),
    ],
)
def test_rejected_credentials(
    protocol: str, credential: Credential, keys: tuple[str, ...], reason: str
) -> None:
    found = derived(protocol, credential, *keys)

    assert (found.outcome, found.principal) == (Outcome.REFUSED, None)
    assert reason in found.reason


@pytest.mark.parametrize(
    ("credential", "keys", "principal", "named"),
    [
        (UserName("alice"), (BUILDER,), "User:alice", "org.example.Builder"),
        (Ticket("alice@A", "B"), (BUILDER,), None, "org.example.Builder"),
        (SIGNED, (f"{HANDLER}=org.example.Handler",), None, "org.example.Handler"),
        (
            SIGNED,
            (SIGNED_HANDLER, "sasl.oauthbearer.jwt.validator.class=org.example.Validator"),
            None,
            "org.example.Validator",
        ),
    ],
)
def test_custom_classes_are_unknown(
    credential: Credential, keys: tuple[str, ...], principal: str | None, named: str
) -> None:
    """What a class of somebody else decides is not known; Kafka's own would give this."""
    found = derived("SASL_SSL", credential, *keys)

    assert (found.outcome, found.principal) == (Outcome.NOT_KNOWN, principal)
    assert named in found.reason


def test_every_rule_is_listed() -> None:
    rules = "RULE:^CN=bob.*$/bob/, RULE:^CN=(.*?),.*$/$1/L, DEFAULT"

    found = derived("SSL", ALICE, REQUIRED, f"ssl.principal.mapping.rules={rules}")

    assert found.key == "ssl.principal.mapping.rules"
    assert found.trials == (
        ("RULE:^CN=bob.*$/bob/", None),
        ("RULE:^CN=(.*?),.*$/$1/L", "alice"),
    )
    assert found.not_reached == ("DEFAULT",)


def test_default_realm_is_assumed_if_needed() -> None:
    """DEFAULT depends on the broker's krb5.conf, other rules do not."""
    rule = "sasl.kerberos.principal.to.local.rules=RULE:[1:$1],DEFAULT"

    assert (
        derived("SASL_SSL", Ticket("a@R")).assumed[0].startswith("the broker's default realm is R")
    )
    assert derived("SASL_SSL", Ticket("a@R", "R")).assumed == ()
    assert derived("SASL_SSL", Ticket("a@R"), rule).assumed == ()


def test_credential_type_must_match_the_listener() -> None:
    with pytest.raises(NotForListener, match="SASL_SSL: its principals come from SASL"):
        derived("SASL_SSL", ALICE)
    with pytest.raises(NotForListener, match="SSL: its principals come from certificates"):
        derived("SSL", UserName("alice"))


def test_invalid_rules_are_rejected() -> None:
    key = "listener.name.clients.ssl.principal.mapping.rules"

    with pytest.raises(ValueError, match=f"^{key}: Invalid rule"):
        derived("SSL", ALICE, REQUIRED, f"{key}=RULE:(/x/")
