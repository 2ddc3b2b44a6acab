"""Messages, tokens and files of SASL mechanisms that nobody would write."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from doorkeeper.base.credentials import credential_of
from doorkeeper.server.security.contract import AuthenticationContext, Challenge, Failure, Success
from doorkeeper.server.security.handlers_contract import TokenRefused, ValidatedToken
from doorkeeper.server.security.oauth import jwks
from doorkeeper.server.security.oauth.mechanism import InvalidMessage, parse_first
from doorkeeper.server.security.oauth.signed import ClaimRules, SignedTokens, validate_claims
from doorkeeper.server.security.oauth.unsecured import UnsecuredTokens
from doorkeeper.server.security.password_records import FIELD_BYTES_MAX, MEMORY_BYTES_MAX
from doorkeeper.server.security.plain import PlainMechanism, PlainUsers
from doorkeeper.server.security.scram import (
    Accounts,
    Malformed,
    ScramMechanism,
    client_final,
    client_first,
)
from doorkeeper.server.security.users_file import is_user_name, read
from testkit.fuzzing import fuzz
from testkit.plain import NO_SOURCES
from testkit.scram import ScramClient
from testkit.tokens import NOW_MS, NOW_S, encoded, first_message, key_of, key_set, signed, unsigned

if TYPE_CHECKING:
    from collections.abc import Callable


PACKAGE = "doorkeeper.server.security.oauth"
MODULES = tuple(
    f"{PACKAGE}.{name}" for name in ("message", "json_text", "unsecured", "signed", "jwks")
)
CLAIMS = {
    "sub": "alice",
    "iat": NOW_S - 9,
    "exp": NOW_S + 9,
    "scope": ["a"],
    "aud": "x",
    "iss": "y",
}
KEY = key_of("EC", "k")
UNSECURED = UnsecuredTokens({"unsecuredValidatorRequiredScope": "a"}, lambda: NOW_MS)
RULES = ClaimRules(audiences=frozenset({"x"}), issuer="y")


class Keys:
    """One key."""

    keys = jwks.parse(key_set(KEY))

    def fetch_newer(self) -> None:
        """There are no newer ones."""


SIGNED = SignedTokens(Keys(), RULES, lambda: NOW_MS)


def message(data: bytes) -> None:
    """Read a first message: what is read is of the characters that it may have."""
    with suppress(InvalidMessage):
        token, authorization_id = parse_first(data)
        assert f"{token}{authorization_id}".isascii()


def unsecured(data: bytes) -> None:
    """Read the two parts of an unsigned token, cut at a zero byte, and then the whole as text."""
    header, _, claims = data.partition(b"\0")
    for token in (f"{encoded(header)}.{encoded(claims)}.", data.decode("latin-1")):
        with suppress(TokenRefused):
            assert UNSECURED(token).principal_name.encode()


def token(data: bytes) -> None:
    """Read a signed token, and a payload as if its signature were good; nobody gets in without."""
    with suppress(TokenRefused):
        assert not isinstance(SIGNED(data.decode("latin-1")), ValidatedToken)
    with suppress(TokenRefused):
        assert validate_claims(data, RULES, NOW_MS).principal_name.strip().encode()


def keys(data: bytes) -> None:
    """Read a set of keys."""
    with suppress(ValueError):
        assert jwks.parse(data).keys


SEEDS = (
    first_message("a.b.c", "traceId=42", authorization_id="alice"),
    b'{"alg":"none"}\0{"sub":"alice","iat":1699999991,"exp":1700000009,"scope":["a"]}',
    unsigned(CLAIMS).encode(),
    signed(CLAIMS, KEY, "ES256")[:-2].encode(),
    b'{"sub":"alice","iat":1699999991,"exp":1700000009,"aud":["x"],"iss":"y","nbf":0}',
    key_set(KEY, key_of("Ed25519")),
)


@pytest.mark.slow
@pytest.mark.parametrize("target", [message, unsecured, token, keys])
def test_any_bytes_are_read_or_rejected(target: Callable[[bytes], None]) -> None:
    fuzz(target, SEEDS, modules=MODULES)


SECRET = "hush\x01\x02"
USERS = PlainUsers({"alice": SECRET})
CONTEXT = AuthenticationContext("A", "SASL_PLAINTEXT", "127.0.0.1")
RECORD = "$scrypt$ln=14,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$" + "A" * 43
PLAIN_SEEDS = (
    f"\0alice\0{SECRET}".encode(),
    b"alice\0alice\0x",
    b"\0\0\0\0",
    f"# c\nalice:{RECORD}\nb:$pbkdf2-sha512$10000$AAECAwQFBgcICQoLDA0ODw${'A' * 86}\n".encode(),
)
PLAIN_MODULES = (
    "doorkeeper.server.security.plain",
    "doorkeeper.server.security.password_records",
    "doorkeeper.server.security.users_file",
)
FILE = Path(tempfile.gettempdir()) / "fuzzed-users.txt"


def plain_token(data: bytes) -> None:
    """Take a token: alice with her password gets in, all else is refused without a trace of it."""
    step = PlainMechanism(USERS, CONTEXT).step(data)

    assert isinstance(step, (Success, Failure))
    if isinstance(step, Success):
        assert data in (f"\0alice\0{SECRET}".encode(), f"alice\0alice\0{SECRET}".encode())
    else:
        assert SECRET not in f"{step.text}{step.reason}"


def file(data: bytes) -> None:
    """Read a file: records within their bounds, or an error that names a line or a byte."""
    FILE.write_bytes(data)
    told, records = "", {}
    try:
        records = read(FILE)
    except ValueError as error:
        told = str(error)
    assert not told or told.startswith((f"{FILE} line ", f"{FILE}: byte "))
    assert "\n" not in told
    for name, record in records.items():
        assert is_user_name(name)
        assert 128 * record.block * record.work * (not record.digest) <= MEMORY_BYTES_MAX
        assert 0 < len(record.salt) <= FIELD_BYTES_MAX
        assert 0 < len(record.hash) <= FIELD_BYTES_MAX


@pytest.mark.slow
@pytest.mark.parametrize("target", [plain_token, file])
def test_any_plain_token_and_file(
    target: Callable[[bytes], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The process that tries has its file there.
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    fuzz(target, PLAIN_SEEDS, modules=PLAIN_MODULES)


MECHANISM = "SCRAM-SHA-256"
KEPT = credential_of(MECHANISM, "hush", 4096, b"salt")
ACCOUNTS = Accounts(MECHANISM, NO_SOURCES, {"alice": KEPT}.get)
CLIENT = ScramClient(MECHANISM, "alice", "hush")
SCRAM_SEEDS = (
    CLIENT.first(),
    b"n,a=al=2Cice,m=x,n=al=2Cice,r=a!b,tokenauth=true,x=y=z",
    CLIENT.final(b"r=client-nonceours,s=c2FsdA==,i=4096"),
    b"c=eSws,r=ab,x=y,p=AAAA",
)
SCRAM_MODULES = ("doorkeeper.server.security.scram", "doorkeeper.server.security.scram")


def messages(data: bytes) -> None:
    """Read bytes as both messages: values that fit what came, or an error that shows none of it."""
    with suppress(Malformed):
        first = client_first(data)
        assert first.name
        assert first.nonce.encode() in data
        assert first.bare.isascii()
    with suppress(Malformed):
        assert client_final(data)[0].encode() in data


def logins(data: bytes) -> None:
    """Give bytes to the first round, and to the second: nobody gets in without the proof."""
    begun = ScramMechanism(ACCOUNTS, "ours").step(data)
    assert isinstance(begun, Challenge | Failure)
    second = ScramMechanism(ACCOUNTS, "ours")
    assert isinstance(second.step(CLIENT.first()), Challenge)
    proof = b"p=" in data and CLIENT.final(b"r=client-nonceours,s=c2FsdA==,i=4096")
    if not (proof and proof.rpartition(b"p=")[2] in data):
        assert isinstance(second.step(data), Failure)


@pytest.mark.slow
@pytest.mark.parametrize("target", [messages, logins])
def test_any_message_is_read_or_rejected(target: Callable[[bytes], None]) -> None:
    fuzz(target, SCRAM_SEEDS, modules=SCRAM_MODULES)
