"""The client's side of the SASL mechanisms: PLAIN, SCRAM and OAUTHBEARER.

A login is a value. ``exchange`` begins one authentication, which supplies the first token and
answers each of the server's, until the answer is None. SCRAM ends with a check that the server
knows the password too.

Source: RFC 4616, RFC 5802, RFC 7628; ``ScramSaslClient``, ``OAuthBearerSaslClient`` (4.3.1).
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from doorkeeper.base.credentials import DIGESTS, ITERATIONS_MAX, ITERATIONS_MIN, base_36
from doorkeeper.client.errors import LoginRefused

_NONCE_BYTES = 17
# Bounds the work on a hostile message; Kafka's servers send three attributes.
_OPTIONS_MAX = 64
_TOKEN = re.compile(r"[\x21-\x7E]+")
_NAME = re.compile(r"[A-Za-z]+")
_VALUE = re.compile(r"[\x21-\x7E \t\r\n]+")


class Exchange(Protocol):
    """One authentication in progress."""

    def first(self) -> bytes: ...

    def answer(self, token: bytes) -> bytes | None:
        """Answer the server's token; None ends the exchange.

        Raises:
            LoginRefused: the token is malformed, or the server's proof is wrong.
        """
        ...


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
            return _Plain(self)
        if self.mechanism in DIGESTS:
            return ScramExchange(self, base_36(os.urandom(_NONCE_BYTES)).decode())
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
        return _Bearer(token, self.extensions)


class _Plain:
    def __init__(self, login: Password) -> None:
        self._login = login

    def first(self) -> bytes:
        return f"\0{self._login.name}\0{self._login.password}".encode()

    def answer(self, token: bytes) -> bytes | None:
        return None


class _Bearer:
    def __init__(self, token: str, extensions: Mapping[str, str]) -> None:
        self._token = token
        self._extensions = extensions

    def first(self) -> bytes:
        pairs = "".join(f"{name}={value}\x01" for name, value in self._extensions.items())
        return f"n,,\x01auth=Bearer {self._token}\x01{pairs}\x01".encode()

    def answer(self, token: bytes) -> bytes | None:
        # Acknowledge the refusal; the server then sends it again as an error.
        return b"\x01" if token else None


class ScramExchange:
    """One authentication by SCRAM (RFC 5802)."""

    def __init__(self, login: Password, nonce: str) -> None:
        """Begin; ``nonce`` must be unique."""
        # RFC 5802, 5.1: both characters separate attributes.
        escaped = login.name.replace("=", "=3D").replace(",", "=2C")
        # The server looks the name up among delegation tokens, not users (KIP-48).
        extension = ",tokenauth=true" if login.by_token else ""
        self._login = login
        self._nonce = nonce
        self._bare = f"n={escaped},r={nonce}{extension}"
        self._signature: bytes | None = None

    def first(self) -> bytes:
        return f"n,,{self._bare}".encode()

    def answer(self, token: bytes) -> bytes | None:
        """Return the client's proof, and in the second call check the server's."""
        if self._signature is not None:
            if not hmac.compare_digest(token, b"v=" + b64encode(self._signature)):
                raise LoginRefused("the server's signature is wrong: it does not know the password")
            return None
        try:
            return self._proof(token)
        except (ValueError, KeyError) as error:
            raise LoginRefused(
                f"the server sent an invalid {self._login.mechanism} message"
            ) from error

    def _proof(self, server_first: bytes) -> bytes:
        text = server_first.decode()
        parts = {part[:1]: part[2:] for part in text.split(",", _OPTIONS_MAX)}
        iterations = int(parts["i"])
        # Few iterations would help a fake server to guess the password, many would block the
        # client.
        if not parts["r"].startswith(self._nonce) or not (
            ITERATIONS_MIN <= iterations <= ITERATIONS_MAX
        ):
            raise ValueError("the server's first message")
        digest = DIGESTS[self._login.mechanism]
        salt = b64decode(parts["s"])
        salted = hashlib.pbkdf2_hmac(digest, self._login.password.encode(), salt, iterations)
        client_key = hmac.digest(salted, b"Client Key", digest)
        # "biws" is "n,," in base64: no channel binding, which Kafka does not support.
        unproved = f"c=biws,r={parts['r']}"
        signed = f"{self._bare},{text},{unproved}".encode()
        signature = hmac.digest(hashlib.new(digest, client_key).digest(), signed, digest)
        proof = bytes(left ^ right for left, right in zip(client_key, signature, strict=True))
        server_key = hmac.digest(salted, b"Server Key", digest)
        self._signature = hmac.digest(server_key, signed, digest)
        return f"{unproved},p={b64encode(proof).decode()}".encode()
