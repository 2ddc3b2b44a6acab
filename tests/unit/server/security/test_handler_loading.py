"""Which callback handler a listener's mechanism has."""

from __future__ import annotations

import pytest

from doorkeeper.base.jaas import LoginModule
from doorkeeper.server.config.sasl import MechanismSettings
from doorkeeper.server.security.guarded_handler import KAFKA_NAMES, handler_of
from doorkeeper.server.security.handlers_contract import PlainPasswords
from testkit.callback_handlers import Recorded
from testkit.recording_logger import RecordingLogger

KEY = "sasl.server.callback.handler.class"
PREFIXED = f"listener.name.clients.plain.{KEY}"
VALUES = {"doorkeeper.sasl.check.timeout.ms": "1000", "doorkeeper.sasl.checks.max": "2"}
HERE = "testkit.callback_handlers"


def settings(name: str, *, prefixed: bool = True, **originals: str) -> MechanismSettings:
    return MechanismSettings(
        name="PLAIN",
        listener_name="CLIENTS",
        login_module=LoginModule("M", "REQUIRED", {"option": "value"}),
        values={**VALUES, KEY: name},
        given_as={KEY: PREFIXED} if prefixed else {},
        originals={key.replace("_", "."): value for key, value in originals.items()},
    )


def loaded(configured: MechanismSettings) -> Recorded:
    handler = handler_of(configured, PlainPasswords, RecordingLogger())  # type: ignore[type-abstract]
    assert handler is not None
    assert isinstance(handler.handler, Recorded)
    return handler.handler


def test_handler_is_created_and_configured() -> None:
    handler = loaded(
        settings(f"{HERE}:Recorded", listener_name_clients_plain_ldap_url="x", ldap_port="1")
    )

    assert (handler.configs["ldap.url"], handler.configs["ldap.port"]) == ("x", "1")
    assert handler.mechanism == "PLAIN"
    assert handler.options == {"option": "value"}


@pytest.mark.parametrize(
    "name", ["", *(n for n, served in KAFKA_NAMES.items() if "PLAIN" in served)]
)
def test_kafkas_default_handler_is_built_in(name: str) -> None:
    """The mechanism does itself what Kafka's handler does."""
    assert handler_of(settings(name), PlainPasswords, RecordingLogger()) is None  # type: ignore[type-abstract]


def test_handler_of_another_mechanism_is_rejected() -> None:
    name = "org.apache.kafka.common.security.scram.internals.ScramServerCallbackHandler"

    assert handler_of(settings(name, prefixed=False), PlainPasswords, RecordingLogger()) is None  # type: ignore[type-abstract]
    with pytest.raises(
        ValueError,
        match=f"^{PREFIXED}={name}: this handler supports SCRAM-SHA-256 and SCRAM-SHA-512",
    ):
        loaded(settings(name))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            f"{HERE}.NoPasswords",
            "found <class .*; allowed: a subclass of .*PlainPasswords, for PLAIN",
        ),
        (f"{HERE}.Half", "the class lacks the methods check"),
        ("short", "found no entry point of this name in doorkeeper.callback_handlers"),
    ],
)
def test_unusable_handler_is_reported(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=f"^{PREFIXED}={name}: {text}"):
        loaded(settings(name))


def test_handler_may_reject_its_keys() -> None:
    with pytest.raises(ValueError, match=r"^twice\.refuse: found something; allowed: nothing$"):
        loaded(settings(f"{HERE}.Recorded", twice_refuse="1"))
    with pytest.raises(ValueError, match=f"^{PREFIXED}={HERE}.Recorded: RuntimeError: broken$"):
        loaded(settings(f"{HERE}.Recorded", twice_break="1"))
