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


def test_unauthenticated_clients_are_anonymous() -> None:
    assert BUILDER.build(AuthenticationContext("A", "PLAINTEXT", "10.0.0.7")) == ANONYMOUS


def test_authorization_id_is_the_user() -> None:
    assert BUILDER.build(proved("Alice =,")) == Principal("User", "Alice =,")


@pytest.mark.parametrize("name", [None, ""])
def test_missing_name_is_a_fault(name: str | None) -> None:
    context = proved("alice")._replace(authorization_id=name)

    with pytest.raises(NoName):
        BUILDER.build(context)


def test_custom_builder_may_return_any_type() -> None:
    roles = builder(f"{HERE}.Roles", listener_name_clients_roles_default="clerk")

    assert roles.build(proved("alice")) == Principal("Role", "clerk")
    assert roles.build(proved("alice", role="chief")) == Principal("Role", "chief")


def test_listener_may_have_its_own_builder() -> None:
    keys = {"listener.name.clients.principal.builder.class": f"{HERE}:Upper"}

    assert principal_builder_of(keys, "CLIENTS", "SSL").build(proved("a")) == Principal("User", "A")
    assert principal_builder_of(keys, "OTHER", "SSL").build(proved("a")) == Principal("User", "a")


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("raise", "LookupError: nobody knows"),
        ("exit", "SystemExit: 1"),
        ("none", "returned NoneType; expected: a Principal of two non-empty Unicode strings"),
        ("text", "returned str; expected: a Principal of two non-empty Unicode strings"),
        ("empty", "returned Principal; expected: a Principal of two non-empty Unicode strings"),
        ("number", "returned Principal; expected: a Principal of two non-empty Unicode strings"),
        # No store, log or message can hold it: every change of this client would fail.
        ("surrogate", "returned Principal; expected: a Principal of two non-empty Unicode strings"),
    ],
)
def test_invalid_builder_result_is_reported(name: str, cause: str) -> None:
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
def test_invalid_builder_stops_the_start(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=f"^principal.builder.class={name}: {text}$"):
        builder(name)


def test_builder_may_reject_its_keys() -> None:
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


def test_certificate_principal_is_its_subject() -> None:
    """The first one's, as Java prints it; without one, on SSL, everybody is ANONYMOUS."""
    alice = shown("SSL", certificate("alice"), certificate("ca"))

    assert BUILDER.build(alice) == Principal("User", "CN=alice,O=Example")
    assert BUILDER.build(shown("SSL")) == ANONYMOUS


def test_certificate_is_ignored_with_sasl() -> None:
    context = proved("bob")._replace(
        security_protocol="SASL_SSL", peer_certificates=(certificate("alice"),)
    )

    assert BUILDER.build(context) == Principal("User", "bob")


def test_mapping_rules_are_applied() -> None:
    mapped = rules("RULE:^CN=(a.*?),.*$/$1/U,RULE:^CN=b.*$/bees/")

    assert mapped.build(shown("SSL", certificate("alice"))) == Principal("User", "ALICE")
    assert mapped.build(shown("SSL", certificate("bob"))) == Principal("User", "bees")
    with pytest.raises(Exception, match=r"^No rules apply to CN=carol,O=Example, rules \[RULE:"):
        mapped.build(shown("SSL", certificate("carol")))


def test_invalid_mapping_rules_stop_the_start() -> None:
    with pytest.raises(ValueError, match=r"^ssl\.principal\.mapping\.rules: "):
        rules("RULE:^CN=(/$1/")
    assert rules("RULE:^CN=(/$1/", "SASL_SSL").build(proved("a")) == Principal("User", "a")
