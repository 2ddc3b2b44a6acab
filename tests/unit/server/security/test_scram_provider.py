"""SCRAM whose users a callback handler knows."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from doorkeeper.server.config.sasl import MechanismSettings
from doorkeeper.server.security.contract import (
    AuthenticationContext,
    Challenge,
    Failure,
    Step,
    Success,
)
from doorkeeper.server.security.guarded_handler import HandlerFault
from doorkeeper.server.security.provider import provider_of
from testkit.plain import NO_SOURCES
from testkit.recording_logger import RecordingLogger
from testkit.scram import ScramClient

if TYPE_CHECKING:
    from doorkeeper.server.security.provider import Provider

SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"
CONTEXT = AuthenticationContext("CLIENTS", "SASL_PLAINTEXT", "10.0.0.7")


def made(name: str = "Directory", mechanism: str = SHA_256) -> Provider:
    settings = MechanismSettings(
        name=mechanism,
        listener_name="CLIENTS",
        values={
            "sasl.server.callback.handler.class": f"testkit.callback_handlers.{name}",
            "doorkeeper.sasl.check.timeout.ms": "1000",
            "doorkeeper.sasl.checks.max": "2",
        },
    )
    return provider_of(settings, replace(NO_SOURCES, logger=RecordingLogger()))


async def login(provider: Provider, client: ScramClient) -> Step:
    begun = provider.begin(CONTEXT)
    answer = begun.step(client.first())
    challenge = await answer if isinstance(answer, Awaitable) else answer
    assert isinstance(challenge, Challenge)
    end = begun.step(client.final(challenge.token))
    return await end if isinstance(end, Awaitable) else end


def test_repr_hides_the_salt_key() -> None:
    sources = replace(NO_SOURCES, salt_key=b"a key of this test")

    assert "a key of this test" not in f"{sources} {sources!r} {(sources,)}"


async def test_handler_users_authenticate() -> None:
    provider = made(mechanism=SHA_512)
    await provider.start()

    right = await login(provider, ScramClient(SHA_512, "alice", "alice-secret"))
    wrong = await login(provider, ScramClient(SHA_512, "alice", "alice-secre"))
    unknown = await login(provider, ScramClient(SHA_512, "bob", "alice-secret"))

    assert isinstance(right, Success)
    assert right.authorization_id == "alice"
    assert isinstance(wrong, Failure)
    assert isinstance(unknown, Failure)
    assert (wrong.text, unknown.text) == (None, None)
    await provider.close()


async def test_unknown_users_look_like_users() -> None:
    provider = made()

    async def iterations(name: str) -> bytes:
        first = provider.begin(CONTEXT).step(ScramClient(SHA_256, name, "x").first())
        assert isinstance(first, Awaitable)
        challenge = await first
        assert isinstance(challenge, Challenge)
        return challenge.token.rpartition(b"i=")[2]

    assert await iterations("bob") == b"4096"
    assert await iterations("alice") == b"8192"
    assert await iterations("bob") == b"8192"


@pytest.mark.parametrize("name", ["raise", "text", "keys", "empty", "rounds"])
async def test_invalid_credential_rejects_the_login(name: str) -> None:
    provider = made()
    step = provider.begin(CONTEXT).step(ScramClient(SHA_256, name, "x").first())

    assert isinstance(step, Awaitable)
    with pytest.raises(HandlerFault):
        await step
