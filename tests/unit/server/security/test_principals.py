"""Who a connection speaks for."""

from __future__ import annotations

import pytest

from doorkeeper.acls.model import ANONYMOUS, Principal
from doorkeeper.server.security.contract import AuthenticationContext, PrincipalBuilder
from doorkeeper.server.security.principals import (
    BuilderFault,
    DefaultPrincipalBuilder,
    NoName,
    principal_builder_of,
)
from testkit.oracle_names import KEYWORDS, UTF8, der, name

BUILDER = DefaultPrincipalBuilder()
HERE = "testkit.callback_handlers"


def builder(class_name: str, **originals: str) -> PrincipalBuilder:
    keys = {key.replace("_", "."): value for key, value in originals.items()}
    return principal_builder_of(
        {"principal.builder.class": class_name, **keys}, "CLIENTS", "SASL_SSL"
    )


def proved(name: str, **claims: object) -> AuthenticationContext:
    return AuthenticationContext(
        "CLIENTS", "SASL_PLAINTEXT", "10.0.0.7", (), "PLAIN", name, claims=claims
    )


def test_who_proves_nothing_is_anonymous() -> None:
    """In clear, and without SASL, everybody is User:ANONYMOUS."""
    assert BUILDER.build(AuthenticationContext("A", "PLAINTEXT", "10.0.0.7")) == ANONYMOUS


def test_what_a_mechanism_proved_is_the_name() -> None:
    """The authorization id becomes a User, letter for letter."""
    assert BUILDER.build(proved("Alice =,")) == Principal("User", "Alice =,")


@pytest.mark.parametrize("name", [None, ""])
def test_a_mechanism_that_proved_no_name_makes_nobody(name: str | None) -> None:
    """It is a fault, and never User:ANONYMOUS: that one may be allowed something."""
    context = proved("alice")._replace(authorization_id=name)

    with pytest.raises(NoName):
        BUILDER.build(context)


def test_a_class_of_python_may_give_any_type() -> None:
    """It gets the keys, those of its listener without prefix, and all that was proved."""
    roles = builder(f"{HERE}.Roles", listener_name_clients_roles_default="clerk")

    assert roles.build(proved("alice")) == Principal("Role", "clerk")
    assert roles.build(proved("alice", role="chief")) == Principal("Role", "chief")


def test_a_listener_may_have_its_own() -> None:
    """A name behind the prefix of a listener counts there."""
    keys = {"listener.name.clients.principal.builder.class": f"{HERE}:Upper"}

    assert principal_builder_of(keys, "CLIENTS", "SSL").build(proved("a")) == Principal("User", "A")
    assert principal_builder_of(keys, "OTHER", "SSL").build(proved("a")) == Principal("User", "a")


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("raise", "LookupError: nobody knows"),
        ("exit", "SystemExit: 1"),
        ("none", "found NoneType; allowed: a Principal of two texts, none of them empty"),
        ("text", "found str; allowed: a Principal of two texts, none of them empty"),
        ("empty", "found Principal; allowed: a Principal of two texts, none of them empty"),
        ("number", "found Principal; allowed: a Principal of two texts, none of them empty"),
    ],
)
def test_one_that_gives_no_principal_is_named(name: str, cause: str) -> None:
    """What it raises and what it returns instead is one line, with its name."""
    with pytest.raises(BuilderFault) as fault:
        builder(f"{HERE}.Faulty").build(proved(name))

    assert str(fault.value) == f"{HERE}.Faulty: {cause}"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (f"{HERE}.not_a_class", "found 7; allowed: a class with the method build"),
        (f"{HERE}.NoPasswords", "found <class .*>; allowed: a class with the method build"),
    ],
)
def test_what_is_no_builder_stops_the_start(name: str, text: str) -> None:
    """One line, which begins with key and name."""
    with pytest.raises(ValueError, match=f"^principal.builder.class={name}: {text}$"):
        builder(name)


def test_a_builder_may_refuse_its_keys() -> None:
    """Its ValueError is the line; anything else is told with its class."""
    with pytest.raises(ValueError, match=r"^roles\.default: found bad; allowed: good ones$"):
        builder(f"{HERE}.Roles", roles_default="bad")
    with pytest.raises(
        ValueError, match=f"^principal.builder.class={HERE}.Roles: RuntimeError: worse$"
    ):
        builder(f"{HERE}.Roles", roles_default="worse")


def certificate(common_name: str) -> bytes:
    """Return the parts of a certificate that matter here."""
    subject = name(
        [(KEYWORDS["O"], UTF8, b"Example")], [(KEYWORDS["CN"], UTF8, common_name.encode())]
    )
    fields = (der(2, b"\1"), der(0x30, b""), name(), der(0x30, b""), subject)
    return der(0x30, der(0x30, b"".join(fields)))


def shown(protocol: str, *certificates: bytes) -> AuthenticationContext:
    return AuthenticationContext("CLIENTS", protocol, "10.0.0.7", certificates)


def rules(text: str, protocol: str = "SSL") -> PrincipalBuilder:
    return principal_builder_of({"ssl.principal.mapping.rules": text}, "CLIENTS", protocol)


def test_a_certificate_is_its_name() -> None:
    """The first one's, as Java prints it; without one, on SSL, everybody is ANONYMOUS."""
    alice = shown("SSL", certificate("alice"), certificate("ca"))

    assert BUILDER.build(alice) == Principal("User", "CN=alice,O=Example")
    assert BUILDER.build(shown("SSL")) == ANONYMOUS


def test_with_sasl_the_certificate_says_nothing() -> None:
    """Who a client is on SASL_SSL is what the mechanism proved."""
    context = proved("bob")._replace(
        security_protocol="SASL_SSL", peer_certificates=(certificate("alice"),)
    )

    assert BUILDER.build(context) == Principal("User", "bob")


def test_rules_make_the_name() -> None:
    """The first that fits; where none does, there is no principal."""
    mapped = rules("RULE:^CN=(a.*?),.*$/$1/U,RULE:^CN=b.*$/bees/")

    assert mapped.build(shown("SSL", certificate("alice"))) == Principal("User", "ALICE")
    assert mapped.build(shown("SSL", certificate("bob"))) == Principal("User", "bees")
    with pytest.raises(Exception, match=r"^No rules apply to CN=carol,O=Example, rules \[RULE:"):
        mapped.build(shown("SSL", certificate("carol")))


def test_wrong_rules_stop_the_start_where_they_count() -> None:
    """On SSL; a broker does not look at them elsewhere."""
    with pytest.raises(ValueError, match=r"^ssl\.principal\.mapping\.rules: "):
        rules("RULE:^CN=(/$1/")
    assert rules("RULE:^CN=(/$1/", "SASL_SSL").build(proved("a")) == Principal("User", "a")
