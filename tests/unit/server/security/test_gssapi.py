"""SASL GSSAPI: the order of tokens, and what the configuration must say.

A real realm is asked in tests/interop/logins/test_kerberos.py.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from doorkeeper.base.jaas import LoginModule
from doorkeeper.server.config.sasl import MechanismSettings
from doorkeeper.server.security.contract import Challenge, Failure, Success
from doorkeeper.server.security.gssapi import (
    LOGIN_MODULE,
    OFFERED_LAYERS,
    RETRIABLE,
    STEPS_MAX,
    GssapiMechanism,
    full_name,
    is_retriable,
    login_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

GENERAL = None
"""The text of a failure that does not say what was wrong."""


class LibraryError(Exception):
    """What the library raises."""

    def __init__(self, min_code: int = 0) -> None:
        super().__init__("what the library says")
        self.min_code = min_code


class Security:
    """A security context: it is complete after so many tokens, each answered by a proof."""

    def __init__(self, tokens: int = 1, proof: bytes | None = b"proof", code: int = 0) -> None:
        self._left = tokens
        self._proof = proof
        self._code = code
        self.initiator_name = b"alice/host@EXAMPLE.COM"

    @property
    def complete(self) -> bool:
        return self._left <= 0

    def step(self, token: bytes) -> bytes | None:
        if token == b"bad":
            raise LibraryError(self._code)
        self._left -= 1
        return self._proof

    def wrap(self, message: bytes, encrypted: bool) -> SimpleNamespace:
        assert not encrypted
        return SimpleNamespace(message=b"wrapped " + message)

    def unwrap(self, token: bytes) -> SimpleNamespace:
        if not token.startswith(b"wrapped "):
            raise LibraryError
        return SimpleNamespace(message=token.removeprefix(b"wrapped "))


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Give one thread."""
    with ThreadPoolExecutor(1) as made:
        yield made


async def test_ticket_authenticates_the_client(threads: ThreadPoolExecutor) -> None:
    mechanism = GssapiMechanism(Security(), LibraryError, threads)

    assert await mechanism.step(b"ticket") == Challenge(b"proof")
    assert await mechanism.step(b"") == Challenge(b"wrapped " + OFFERED_LAYERS)
    assert await mechanism.step(b"wrapped \1\0\0\0") == Success("alice/host@EXAMPLE.COM")


@pytest.mark.parametrize("name", [b"kafka@host", b"\xff\xfe"])
def test_authorization_id_is_ignored(name: bytes, threads: ThreadPoolExecutor) -> None:
    """Kafka authorizes every name and takes the ticket's; kafka-python sends the service's."""
    mechanism = GssapiMechanism(Security(proof=None), LibraryError, threads)
    mechanism.decide(b"ticket")

    outcome = mechanism.decide(b"wrapped \1\0\0\0" + name)

    assert outcome == Success("alice/host@EXAMPLE.COM")


@pytest.mark.parametrize(
    ("tokens", "reason"),
    [
        ([b"bad"], "what the library says"),
        ([b"ticket", b"more"], "found a token after the authentication; expected: an empty one"),
        ([b"ticket", b"", b"unwrapped"], "what the library says"),
        ([b"ticket", b"", b"wrapped \1\0\0"], "found 3 bytes for the security layer; expected: 4"),
        ([b"ticket", b"", b"wrapped \4\0\0\0"], "the security layer 4 is not offered"),
        ([b"ticket", b"", b"wrapped \0\0\0\0"], "the security layer 0 is not offered"),
    ],
)
def test_invalid_token_is_rejected(
    tokens: list[bytes], reason: str, threads: ThreadPoolExecutor
) -> None:
    mechanism = GssapiMechanism(Security(), LibraryError, threads)

    outcomes = [mechanism.decide(token) for token in tokens]

    assert outcomes[-1] == Failure(GENERAL, reason)
    assert all(isinstance(outcome, Challenge) for outcome in outcomes[:-1])


def test_number_of_tokens_is_limited(threads: ThreadPoolExecutor) -> None:
    mechanism = GssapiMechanism(Security(tokens=100), LibraryError, threads)

    outcomes = [mechanism.decide(b"more") for _ in range(STEPS_MAX + 1)]

    assert outcomes[:-1] == [Challenge(b"proof")] * STEPS_MAX
    assert outcomes[-1] == Failure(GENERAL, f"more than {STEPS_MAX} tokens")


@pytest.mark.parametrize("code", [2529638933, 2529638946])
def test_transient_errors_close_the_connection(code: int, threads: ThreadPoolExecutor) -> None:
    outcome = GssapiMechanism(Security(code=code), LibraryError, threads).decide(b"bad")

    assert outcome == Failure(GENERAL, "what the library says", answered=False)
    assert code in RETRIABLE
    assert not is_retriable(LibraryError(code + 10))


@pytest.mark.parametrize(
    ("displayed", "name"),
    [
        (rb"we\/ird@R", "we/ird@R"),
        (rb"at\@x@R", r"at\@x@R"),
        (rb"back\\slash@R", r"back\slash@R"),
        (rb"a\tb\nc@R", "a\tb\nc@R"),
        ("jürgen@R".encode(), "jürgen@R"),
    ],
)
def test_names_are_formatted_as_in_java(displayed: bytes, name: str) -> None:
    assert full_name(displayed) == name


def settings(
    options: Mapping[str, str] | None,
    *,
    module: str = LOGIN_MODULE,
    service: str | None = "kafka",
) -> MechanismSettings:
    return MechanismSettings(
        name="GSSAPI",
        listener_name="CLIENTS",
        login_module=None if options is None else LoginModule(module, "REQUIRED", options),
        values={} if service is None else {"sasl.kerberos.service.name": service},
    )


GOOD = {
    "useKeyTab": "true",
    "storeKey": "true",
    "keyTab": "/etc/security/keytabs/kafka_server.keytab",
    "principal": "kafka/kafka1.hostname.com@EXAMPLE.COM",
}
"""As Kafka's documentation prints it."""


def test_documented_login_module_is_read() -> None:
    """Kafka's block gives the keytab, the principal and the service's name."""
    assert login_of(settings(GOOD), "key") == (
        Path("/etc/security/keytabs/kafka_server.keytab"),
        "kafka/kafka1.hostname.com@EXAMPLE.COM",
        "kafka",
    )


def test_service_name_in_the_login_module() -> None:
    options = {**GOOD, "serviceName": "kafka", "keyTab": "FILE:/k"}

    assert login_of(settings(options, service=None), "key")[2] == "kafka"
    assert login_of(settings(options), "key")[0] == Path("/k")


@pytest.mark.parametrize(
    ("options", "service", "text"),
    [
        (None, "kafka", "sasl.jaas.config: found the login module none; GSSAPI requires com.sun."),
        ({**GOOD, "useKeyTab": "false"}, "kafka", "sasl.jaas.config: useKeyTab=true is required"),
        ({**GOOD, "keyTab": ""}, "kafka", "sasl.jaas.config: the option keyTab is required"),
        ({**GOOD, "principal": ""}, "kafka", "sasl.jaas.config: the option principal is required"),
        ({**GOOD, "principal": "*"}, "kafka", "sasl.jaas.config: principal * is not supported"),
        (
            GOOD,
            None,
            "sasl.kerberos.service.name: No serviceName defined in either JAAS or Kafka config",
        ),
        (
            {**GOOD, "serviceName": "other"},
            "kafka",
            "sasl.kerberos.service.name: Conflicting serviceName values found in JAAS and Kafka",
        ),
    ],
)
def test_missing_settings_stop_the_start(
    options: Mapping[str, str] | None, service: str | None, text: str
) -> None:
    with pytest.raises(ValueError) as caught:
        login_of(settings(options, service=service), "sasl.jaas.config")

    assert str(caught.value).startswith(text)
    assert "\n" not in str(caught.value)
