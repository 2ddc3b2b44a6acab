"""SASL PLAIN: what is accepted, what is refused and with which words."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from doorkeeper.base.jaas import LoginModule
from doorkeeper.server.config.sasl import MechanismSettings
from doorkeeper.server.security.contract import AuthenticationContext, Failure, Step, Success
from doorkeeper.server.security.password_records import record_of
from doorkeeper.server.security.plain import (
    FilePasswords,
    PlainMechanism,
    PlainUsers,
    provider,
)
from testkit.plain import NO_SOURCES
from testkit.recording_logger import RecordingLogger

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.server.security.provider import Provider

CONTEXT = AuthenticationContext("A", "SASL_PLAINTEXT", "10.0.0.7")
USERS = PlainUsers({"alice": "alice-secret", "ä=,b": "pass wörd", "empty": ""})


def step(token: bytes) -> Success | Failure:
    decided = PlainMechanism(USERS, CONTEXT).step(token)
    assert isinstance(decided, (Success, Failure))
    return decided


@pytest.mark.parametrize(
    ("token", "name"),
    [
        (b"\0alice\0alice-secret", "alice"),
        (b"alice\0alice\0alice-secret", "alice"),
        ("\0ä=,b\0pass wörd".encode(), "ä=,b"),
    ],
)
def test_correct_password_is_accepted(token: bytes, name: str) -> None:
    assert step(token) == Success(name)


OTHER_NAME = (
    "Authentication failed: Client requested an authorization id that is different from username"
)
WRONG = "Authentication failed: Invalid username or password"


@pytest.mark.parametrize(
    ("token", "text"),
    [
        (b"\0alice\0wrong", WRONG),
        (b"\0mallory\0alice-secret", WRONG),
        (b"\0\xff\xfe\0\xff", WRONG),
        (b"\0\0secret", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"a\0b", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        (b"a\0b\0c\0d\0e\0f", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (
            b"bob\0alice\0alice-secret",
            OTHER_NAME,
        ),
        (b"bob\0alice\0wrong", WRONG),
    ],
)
def test_rejection_texts_match_kafka(token: bytes, text: str) -> None:
    """Each fault has Kafka's text, checked in Kafka's order; more than four parts count as four."""
    assert step(token) == Failure(text, text)


def test_repr_hides_passwords() -> None:
    shown = f"{USERS!r} {PlainMechanism(USERS, CONTEXT)!r} {USERS!s}"

    assert "secret" not in shown
    assert "3 users" in shown


USERS_FILE_KEY = "doorkeeper.sasl.plain.users.file"


def settings(**given: str) -> MechanismSettings:
    """Return settings of PLAIN; a handler and a file may be given."""
    return MechanismSettings(
        name="PLAIN",
        listener_name="A",
        login_module=LoginModule("M", "REQUIRED", {"user_bob": "bob-secret", "username": "x"}),
        values={
            "sasl.server.callback.handler.class": given.get("handler", ""),
            "doorkeeper.sasl.check.timeout.ms": "20000",
            "doorkeeper.sasl.checks.max": "2",
            **({USERS_FILE_KEY: given["file"]} if "file" in given else {}),
        },
        given_as={USERS_FILE_KEY: f"listener.name.a.{USERS_FILE_KEY}"},
    )


async def outcome(made: Provider, token: bytes) -> Step:
    step = made.begin(CONTEXT).step(token)
    return await step if isinstance(step, Awaitable) else step


def users_file(folder: Path) -> Path:
    file = folder / "users.txt"
    file.touch(0o600)
    file.write_text(f"alice:{record_of('alice-secret', bytes(16)).text()}\n")
    return file


async def test_users_of_a_file_authenticate(tmp_path: Path) -> None:
    """Those of the file and those of the login module; others are refused in Kafka's words."""
    logger = RecordingLogger()
    made = provider(settings(file=f" {users_file(tmp_path)} "), replace(NO_SOURCES, logger=logger))
    await made.start()

    assert await outcome(made, b"\0alice\0alice-secret") == Success("alice")
    assert await outcome(made, b"\0bob\0bob-secret") == Success("bob")
    assert await outcome(made, b"bob\0alice\0alice-secret") == Failure(OTHER_NAME, OTHER_NAME)
    assert await outcome(made, b"\0alice\0wrong") == Failure(WRONG, WRONG)
    assert await outcome(made, b"\0x\0x") == Failure(WRONG, WRONG)
    made.refresh()
    assert logger.lines == []
    await made.close()


async def test_world_readable_file_is_warned_about(tmp_path: Path) -> None:
    file, logger = users_file(tmp_path), RecordingLogger()
    file.chmod(0o644)
    made = provider(settings(file=str(file)), replace(NO_SOURCES, logger=logger))

    await made.start()

    event = "a users file is accessible to other users"
    assert logger.lines == [("warning", event, {"file": str(file)})]
    await made.close()


def test_invalid_file_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"^listener.name.a.{USERS_FILE_KEY}: .* cannot read"):
        provider(settings(file=str(tmp_path / "gone")), NO_SOURCES)


async def test_failing_handler_rejects_with_kafkas_text() -> None:
    made = provider(settings(handler="testkit.callback_handlers.Recorded"), NO_SOURCES)

    failure = await outcome(made, b"\0raise\0hush")

    assert isinstance(failure, Failure)
    assert failure.text == "Authentication failed: credentials for user could not be verified"
    assert failure.reason == (
        f"{failure.text}: testkit.callback_handlers.Recorded: ConnectionError:"
        " no connection for raise"
    )


def test_handler_and_file_are_exclusive(tmp_path: Path) -> None:
    """The start stops; Kafka's own handler is none."""
    file = str(users_file(tmp_path))
    kafkas = "org.apache.kafka.common.security.plain.internals.PlainServerCallbackHandler"

    with pytest.raises(ValueError, match="found a users file and a callback handler"):
        provider(settings(handler="testkit.callback_handlers.Recorded", file=file), NO_SOURCES)
    assert isinstance(provider(settings(handler=kafkas, file=file), NO_SOURCES), FilePasswords)
    assert type(provider(settings(handler=kafkas), NO_SOURCES)) is PlainUsers
