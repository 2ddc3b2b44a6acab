"""The client's side of SASL, token by token."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from doorkeeper.client.errors import LoginRefused
from doorkeeper.client.logins import Bearer, Exchange, Password, scram

SERVER_FIRST = (
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
)
SCRAM = Password("SCRAM-SHA-256", "a=,b", "pencil")


def giving(token: str) -> Callable[[], Awaitable[str]]:
    async def give() -> str:
        return token

    return give


def ends(exchange: Exchange, token: bytes) -> bool:
    """Say whether the client has no answer to a token of the server."""
    try:
        exchange.send(token)
    except StopIteration:
        return True
    return False


async def test_plain_is_one_token() -> None:
    """An empty authorization id, the name and the password."""
    exchange = await Password("PLAIN", "alice", "alice-secret").exchange()

    assert next(exchange) == b"\0alice\0alice-secret"
    assert ends(exchange, b"")


def test_scram_matches_rfc_7677_example() -> None:
    """The example of RFC 7677, from first to last message."""
    login = scram(Password("SCRAM-SHA-256", "user", "pencil"), "rOprNGfwEbeRWgbNEkqO")

    assert next(login) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert login.send(SERVER_FIRST) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert ends(login, b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_wrong_server_signature_is_rejected() -> None:
    login = scram(Password("SCRAM-SHA-256", "user", "pencil"), "rOprNGfwEbeRWgbNEkqO")
    next(login)
    login.send(SERVER_FIRST)

    with pytest.raises(LoginRefused, match="does not know the password"):
        login.send(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G5=")


def test_names_and_tokens_are_escaped() -> None:
    assert next(scram(SCRAM, "n")) == b"n,,n=a=3D=2Cb,r=n"
    token = Password("SCRAM-SHA-256", "id", "hmac", by_token=True)
    assert next(scram(token, "n")) == b"n,,n=id,r=n,tokenauth=true"


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"r=other,s=AAAA,i=4096",
        b"r=nn,s=AAAA",
        b"i=x,r=nn,s=",
        b"r=nn,s=AAAA,i=1000000000",
        b"r=nn,s=AAAA,i=4095",
        b"r=nn,s=AAAA,i=" + b"9" * 5000,
    ],
)
def test_invalid_scram_iterations_are_rejected(first: bytes) -> None:
    """Too few iterations give the password away, too many are work for ever: Kafka's bounds."""
    login = scram(SCRAM, "n")
    next(login)

    with pytest.raises(LoginRefused, match="the server sent an invalid SCRAM-SHA-256 message"):
        login.send(first)


async def test_password_requires_a_password_mechanism() -> None:
    with pytest.raises(LoginRefused, match="GSSAPI: a password requires PLAIN, SCRAM-SHA-256 or"):
        await Password("GSSAPI", "a", "b").exchange()
    assert next(await SCRAM.exchange()).startswith(b"n,,n=a=3D=2Cb,r=")


async def test_token_is_sent_with_extensions() -> None:
    """RFC 7628; a server that says what is wrong is answered, so that it refuses."""
    login = Bearer(giving("a.b.c"), {"traceId": "1 2"})
    accepted, refused = await login.exchange(), await login.exchange()

    assert next(accepted) == next(refused) == b"n,,\x01auth=Bearer a.b.c\x01traceId=1 2\x01\x01"
    assert ends(accepted, b"")
    assert refused.send(b'{"status":"invalid_token"}') == b"\x01"


@pytest.mark.parametrize(
    ("token", "extensions"),
    [
        ("a\x01b", {}),
        ("a b", {}),
        ("\u00fc", {}),
        ("t", {"auth": "x"}),
        ("t", {"a1": "x"}),
        ("t", {"a": "x\x01auth=y"}),
    ],
)
async def test_invalid_token_characters_are_rejected(
    token: str, extensions: dict[str, str]
) -> None:
    with pytest.raises(LoginRefused, match="OAUTHBEARER: the ") as raised:
        await Bearer(giving(token), extensions).exchange()

    assert "a b" not in str(raised.value)


async def test_token_provider_error_rejects_the_login() -> None:
    async def fail() -> str:
        raise TimeoutError("secret=s")

    with pytest.raises(LoginRefused, match=r"the token provider failed: TimeoutError$") as raised:
        await Bearer(fail).exchange()

    assert isinstance(raised.value.__cause__, TimeoutError)


def test_repr_hides_secrets() -> None:
    assert "pencil" not in repr(SCRAM)
    assert "giving" not in repr(Bearer(giving("t")))
