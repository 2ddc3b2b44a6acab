"""SCRAM: who gets in, and what those who do not get in can see."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Awaitable
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from doorkeeper.acls.model import Principal
from doorkeeper.base.credentials import DIGESTS, ScramCredential
from doorkeeper.server.config.sasl import MechanismSettings
from doorkeeper.server.security.contract import (
    AuthenticationContext,
    Challenge,
    Failure,
    Step,
    Success,
)
from doorkeeper.server.security.provider import TokenLogin, provider_of
from doorkeeper.server.security.scram import TOKENS_KEPT_MAX, Decoys, TokenAccounts
from testkit.plain import NO_SOURCES
from testkit.scram import ScramClient, stored

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.server.security.contract import Mechanism
    from doorkeeper.server.security.provider import Sources

SHA_256, SHA_512 = DIGESTS
NOW_MS = 1_700_000_000_000
HMAC = b"\x07" * 64
PASSWORD = b64encode(HMAC).decode()
CONTEXT = AuthenticationContext("CLIENTS", "SASL_PLAINTEXT", "10.0.0.7")


def sources(
    users: dict[str, ScramCredential] | None = None, tokens: dict[str, TokenLogin] | None = None
) -> Sources:
    return replace(
        NO_SOURCES,
        scram_credential=lambda _mechanism, name: (users or {}).get(name),
        token_login=(tokens or {}).get,
        now_ms=lambda: NOW_MS,
    )


def begun(given: Sources, mechanism: str = SHA_256) -> Mechanism:
    settings = MechanismSettings(name=mechanism, listener_name="CLIENTS")
    return provider_of(settings, given).begin(CONTEXT)


def taken(mechanism: Mechanism, token: bytes) -> Step:
    """Return what comes of a token, now or later."""

    async def wait() -> Step:
        step = mechanism.step(token)
        return await step if isinstance(step, Awaitable) else step

    return asyncio.run(wait())


def login(given: Sources, client: ScramClient, mechanism: str = SHA_256) -> Step:
    """Return how a login ends, from a fresh mechanism."""
    begin = begun(given, mechanism)
    answer = taken(begin, client.first())
    if not isinstance(answer, Challenge):
        return answer
    return taken(begin, client.final(answer.token))


@pytest.mark.parametrize(
    ("mechanism", "name", "password"),
    [
        (SHA_256, "alice", "alice-secret"),
        (SHA_512, "a,b=c", "\u00aa\u00a0\u2163 \U0001f511"),
        (SHA_256, "=2C", "alice-secret"),
    ],
)
def test_user_authenticates(mechanism: str, name: str, password: str) -> None:
    client = ScramClient(mechanism, name, password)

    outcome = login(sources({name: stored(mechanism, password)}), client, mechanism)

    assert isinstance(outcome, Success)
    assert client.is_server(outcome.token)
    assert outcome == Success(name, outcome.token)


@pytest.mark.parametrize("name", ["alice", "nobody"])
def test_other_authorization_id_is_rejected_uniformly(name: str) -> None:
    """Kafka's text comes in the first round for those who exist and for those who do not."""
    client = ScramClient(SHA_256, name, "x", authorization_id="bob")
    text = (
        "Authentication failed: Client requested an authorization id that is different from"
        " username"
    )

    outcome = login(sources({"alice": stored(SHA_256, "x")}), client)

    assert outcome == Failure(text, text)


@pytest.mark.parametrize(
    ("client", "reason"),
    [
        (ScramClient(SHA_256, "alice", "wrong"), "the password is wrong"),
        (ScramClient(SHA_256, "nobody", "x"), "no such user with SCRAM-SHA-256"),
        (
            ScramClient(SHA_256, "weak", "x"),
            "the stored credential has 4095 iterations; required: at least 4096",
        ),
        (
            ScramClient(SHA_256, "no-token", "x", extensions="tokenauth=true"),
            "no such delegation token, or the secret key has changed",
        ),
        (
            ScramClient(SHA_256, "alice", "x", extensions="tokenauth=true"),
            "no such delegation token, or the secret key has changed",
        ),
    ],
)
def test_rejection_comes_in_the_second_round(client: ScramClient, reason: str) -> None:
    users = {"alice": stored(SHA_256, "x"), "weak": stored(SHA_256, "x", 4095)}

    assert login(sources(users), client) == Failure(None, reason)


def test_unknown_user_has_a_constant_salt() -> None:
    def shown(name: str, mechanism: str = SHA_256, key: bytes = b"k") -> bytes:
        given = replace(sources(), salt_key=key, scram_iterations=lambda _mechanism: 8192)
        answer = begun(given, mechanism).step(ScramClient(mechanism, name, "x").first())
        assert isinstance(answer, Challenge)
        nonce, _, rest = answer.token.partition(b",")
        assert nonce.startswith(b"r=client-nonce")
        return rest

    assert shown("nobody") == shown("nobody")
    assert shown("nobody").endswith(b",i=8192")
    assert (
        len({shown("nobody"), shown("other"), shown("nobody", SHA_512), shown("nobody", key=b"l")})
        == 4
    )


def test_each_login_has_its_own_nonce() -> None:
    def nonce() -> bytes:
        answer = begun(sources()).step(b"n,,n=alice,r=abc")
        assert isinstance(answer, Challenge)
        return answer.token.split(b",")[0]

    drawn = {nonce() for _ in range(20)}

    assert len(drawn) == 20
    assert all(each.startswith(b"r=abc") and len(each) > 20 for each in drawn)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda text: text.replace("r=client", "r=other"), "does not match"),
        (lambda text: text[: text.rindex("p=")] + "p=AAAA", "the wrong length"),
        (lambda text: text[: text.rindex("p=")] + "p=", "the wrong length"),
        (lambda text: text + "\n", "malformed"),
        (lambda text: text.replace("c=biws", "c=eSws"), "password is wrong"),
    ],
)
def test_modified_final_message_is_rejected(change: Callable[[str], str], reason: str) -> None:
    client = ScramClient(SHA_256, "alice", "x")
    mechanism = begun(sources({"alice": stored(SHA_256, "x")}))
    answer = mechanism.step(client.first())
    assert isinstance(answer, Challenge)

    outcome = mechanism.step(change(client.final(answer.token).decode()).encode())

    assert isinstance(outcome, Failure)
    assert outcome.text is None
    assert reason in outcome.reason


@pytest.mark.parametrize("mechanism", [SHA_256, SHA_512])
def test_delegation_token_authenticates_its_owner(mechanism: str) -> None:
    """The id is the name, the HMAC in base64 the password; the token's end ends the session."""
    token = TokenLogin(Principal("User", "alice"), HMAC, NOW_MS + 5000)
    client = ScramClient(mechanism, "token-id", PASSWORD, extensions="tokenauth=true")

    outcome = login(sources(tokens={"token-id": token}), client, mechanism)

    assert isinstance(outcome, Success)
    assert outcome == Success(
        "alice", outcome.token, 5000, token_authenticated=True, token_owner=token.owner
    )


def test_expired_token_has_no_session_lifetime() -> None:
    token = TokenLogin(Principal("User", "alice"), HMAC, NOW_MS - 1)
    client = ScramClient(SHA_256, "token-id", PASSWORD, extensions="tokenauth=true")

    outcome = login(sources(tokens={"token-id": token}), client)

    assert isinstance(outcome, Success)
    assert outcome.lifetime_ms == 0


@pytest.mark.parametrize("extensions", ["", "other=true"])
def test_token_id_is_not_a_user(extensions: str) -> None:
    token = TokenLogin(Principal("User", "alice"), HMAC, NOW_MS + 5000)
    client = ScramClient(SHA_256, "token-id", PASSWORD, extensions=extensions)

    outcome = login(sources(tokens={"token-id": token}), client)

    assert outcome == Failure(None, "no such user with SCRAM-SHA-256")


def test_token_salt_does_not_reveal_the_token() -> None:
    client = ScramClient(SHA_256, "token-id", PASSWORD, extensions="tokenauth=true")
    token = TokenLogin(Principal("User", "alice"), HMAC, NOW_MS)

    answers = [
        taken(begun(each), client.first())
        for each in (sources(tokens={"token-id": token}), sources())
    ]

    assert (
        len({each.token.partition(b",")[2] for each in answers if isinstance(each, Challenge)}) == 1
    )
    assert len(answers) == 2


def test_token_keys_are_computed_once() -> None:
    token = TokenLogin(Principal("User", "alice"), HMAC, NOW_MS)
    tokens = TokenAccounts(SHA_256, Decoys(SHA_256, b"k"), {"id": token}.get)

    async def logins() -> list[object]:
        waits = [tokens.account("id") for _ in range(20)]
        assert all(isinstance(each, Awaitable) for each in waits)
        found: list[object] = [await each for each in waits if isinstance(each, Awaitable)]
        return [*found, tokens.account("id")]

    found = asyncio.run(logins())

    assert len({id(each.credential) for each in found}) == 1  # type: ignore[attr-defined]


def test_token_with_another_hmac_is_rejected() -> None:
    live = {"id": TokenLogin(Principal("User", "alice"), HMAC, NOW_MS)}
    tokens = TokenAccounts(SHA_256, Decoys(SHA_256, b"k"), live.get)

    async def credential() -> object:
        account = tokens.account("id")
        return await account if isinstance(account, Awaitable) else account

    first = asyncio.run(credential())
    live["id"] = TokenLogin(Principal("User", "alice"), b"\x08" * 64, NOW_MS)
    second = asyncio.run(credential())
    live.clear()

    assert first != second
    assert tokens.account("id") is None


def test_token_cache_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doorkeeper.server.security.scram.TOKENS_KEPT_MAX", 2)
    token = TokenLogin(Principal("User", "alice"), HMAC, NOW_MS)
    tokens = TokenAccounts(SHA_256, Decoys(SHA_256, b"k"), lambda _token_id: token)

    async def computed() -> list[bool]:
        for name in ("a", "b", "a", "c"):
            account = tokens.account(name)
            if isinstance(account, Awaitable):
                await account
        return [isinstance(tokens.account(name), Awaitable) for name in ("a", "c")]

    assert TOKENS_KEPT_MAX == 4096
    assert asyncio.run(computed()) == [False, False]
