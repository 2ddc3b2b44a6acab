"""Who a connection speaks for."""

from __future__ import annotations

import pytest

from doorkeeper.acl.model import ANONYMOUS, Principal
from doorkeeper.authn.contract import AuthenticationContext, PrincipalBuilder
from doorkeeper.authn.principals import (
    KAFKA_NAME,
    BuilderFault,
    DefaultPrincipalBuilder,
    principal_builder_of,
)

BUILDER = DefaultPrincipalBuilder()
HERE = "testkit.callback_handlers"


def builder(name: str, **originals: str) -> PrincipalBuilder:
    keys = {key.replace("_", "."): value for key, value in originals.items()}
    return principal_builder_of({"principal.builder.class": name, **keys}, "CLIENTS")


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


@pytest.mark.parametrize("name", ["", KAFKA_NAME])
def test_kafkas_name_is_the_default(name: str) -> None:
    """Also where nothing is given."""
    assert isinstance(builder(name), DefaultPrincipalBuilder)
    assert isinstance(principal_builder_of({}, "CLIENTS"), DefaultPrincipalBuilder)


def test_a_class_of_python_may_give_any_type() -> None:
    """It gets the keys, those of its listener without prefix, and all that was proved."""
    roles = builder(f"{HERE}.Roles", listener_name_clients_roles_default="clerk")

    assert roles.build(proved("alice")) == Principal("Role", "clerk")
    assert roles.build(proved("alice", role="chief")) == Principal("Role", "chief")


def test_a_listener_may_have_its_own() -> None:
    """A name behind the prefix of a listener counts there."""
    keys = {"listener.name.clients.principal.builder.class": f"{HERE}:Upper"}

    assert principal_builder_of(keys, "CLIENTS").build(proved("a")) == Principal("User", "A")
    assert principal_builder_of(keys, "OTHER").build(proved("a")) == Principal("User", "a")


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
        ("com.example.Builder", "found the name of a Java class; expected is a Python class: .*"),
        (f"{HERE}.not_a_class", "found 7; allowed: a class with the method build"),
        (f"{HERE}.NoPasswords", "found <class .*>; allowed: a class with the method build"),
        ("short", "found no entry point of this name in doorkeeper.principal_builders; .*"),
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
