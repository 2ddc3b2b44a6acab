"""The client's side of the SASL mechanisms: PLAIN, SCRAM and OAUTHBEARER.

A login is a value, and ``exchange`` begins one authentication. SCRAM ends with a check that the
server knows the password too.

Source: RFC 4616, RFC 5802, RFC 7628; ``ScramSaslClient``, ``OAuthBearerSaslClient`` (4.3.1).
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from doorkeeper.base.credentials import (
    DIGESTS,
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    base_36,
    salted_credential_of,
)
from doorkeeper.client.errors import LoginRefused

_NONCE_BYTES = 17
# Bounds the work on a hostile message; Kafka's servers send three attributes.
_OPTIONS_MAX = 64
_TOKEN = re.compile(r"[\x21-\x7E]+")
_NAME = re.compile(r"[A-Za-z]+")
_VALUE = re.compile(r"[\x21-\x7E \t\r\n]+")


Exchange = Generator[bytes, bytes, None]
"""One authentication: it yields the client's tokens, is sent the server's, and ends after the last.

It raises LoginRefused where a token is malformed, or the server's proof is wrong.
"""


class Login(Protocol):
    """An identity and its mechanism."""

    @property
    def mechanism(self) -> str: ...

    async def exchange(self) -> Exchange: ...


@dataclass(frozen=True, slots=True)
class Password:
    """A name and a password, for PLAIN and SCRAM.

    With ``by_token`` they are the id and the base64 HMAC of a delegation token.
    """

    mechanism: str
    name: str
    password: str = field(repr=False)
    by_token: bool = False

    async def exchange(self) -> Exchange:
        if self.mechanism == "PLAIN":
            return _plain(self)
        if self.mechanism in DIGESTS:
            return scram(self, base_36(os.urandom(_NONCE_BYTES)).decode())
        raise LoginRefused(f"{self.mechanism}: a password requires PLAIN, {' or '.join(DIGESTS)}")


@dataclass(frozen=True, slots=True)
class Bearer:
    """A token for OAUTHBEARER, requested at each login, and SASL extensions."""

    token: Callable[[], Awaitable[str]] = field(repr=False)
    extensions: Mapping[str, str] = field(default_factory=dict)

    @property
    def mechanism(self) -> str:
        return "OAUTHBEARER"

    async def exchange(self) -> Exchange:
        """Request a token and begin."""
        try:
            token = await self.token()
        except LoginRefused:
            raise
        except Exception as error:
            # Without the text, which may contain a secret.
            kind = type(error).__name__
            raise LoginRefused(f"OAUTHBEARER: the token provider failed: {kind}") from error
        if _TOKEN.fullmatch(token) is None:
            raise LoginRefused("OAUTHBEARER: the token is empty or contains invalid characters")
        for name, value in self.extensions.items():
            if name == "auth" or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
                raise LoginRefused(
                    f"OAUTHBEARER: the extension {name} has an invalid name or value"
                )
        return _bearer(token, self.extensions)


def _plain(login: Password) -> Exchange:
    yield f"\0{login.name}\0{login.password}".encode()


def _bearer(token: str, extensions: Mapping[str, str]) -> Exchange:
    pairs = "".join(f"{name}={value}\x01" for name, value in extensions.items())
    refusal = yield f"n,,\x01auth=Bearer {token}\x01{pairs}\x01".encode()
    # Acknowledge the refusal; the server then sends it again as an error.
    while refusal:
        refusal = yield b"\x01"


def scram(login: Password, nonce: str) -> Exchange:
    """Yield the tokens of one authentication by SCRAM (RFC 5802); ``nonce`` must be unique."""
    # RFC 5802, 5.1: both characters separate attributes.
    escaped = login.name.replace("=", "=3D").replace(",", "=2C")
    # The server looks the name up among delegation tokens, not users (KIP-48).
    extension = ",tokenauth=true" if login.by_token else ""
    bare = f"n={escaped},r={nonce}{extension}"
    server_first = yield f"n,,{bare}".encode()
    try:
        proof, signature = _proof(login, nonce, bare, server_first)
    except (ValueError, KeyError) as error:
        raise LoginRefused(f"the server sent an invalid {login.mechanism} message") from error
    server_last = yield proof
    if not hmac.compare_digest(server_last, b"v=" + b64encode(signature)):
        raise LoginRefused("the server's signature is wrong: it does not know the password")


def _proof(login: Password, nonce: str, bare: str, server_first: bytes) -> tuple[bytes, bytes]:
    """Return the client's proof, and the signature of a server that knows the password."""
    text = server_first.decode()
    parts = {part[:1]: part[2:] for part in text.split(",", _OPTIONS_MAX)}
    iterations = int(parts["i"])
    # Few iterations would help a fake server to guess the password, many would block the client.
    if not parts["r"].startswith(nonce) or not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
        raise ValueError("the server's first message")
    digest = DIGESTS[login.mechanism]
    salt = b64decode(parts["s"])
    salted = hashlib.pbkdf2_hmac(digest, login.password.encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", digest)
    credential = salted_credential_of(login.mechanism, salted, iterations, salt)
    # "biws" is "n,," in base64: no channel binding, which Kafka does not support.
    unproved = f"c=biws,r={parts['r']}"
    signed = f"{bare},{text},{unproved}".encode()
    signature = hmac.digest(credential.stored_key, signed, digest)
    proof = bytes(left ^ right for left, right in zip(client_key, signature, strict=True))
    return (
        f"{unproved},p={b64encode(proof).decode()}".encode(),
        hmac.digest(credential.server_key, signed, digest),
    )
