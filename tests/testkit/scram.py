"""A client of SCRAM (RFC 5802) for tests, and credentials to log in with."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any

from doorkeeper.base.credentials import DIGESTS, ScramCredential, credential_of
from doorkeeper_wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from testkit.frames import FrameClient


class ScramClient:
    """One login, as Kafka's client does it: ``first``, ``final``, ``is_server``."""

    def __init__(
        self,
        mechanism: str,
        name: str,
        password: str,
        *,
        nonce: str = "client-nonce",
        authorization_id: str = "",
        extensions: str = "",
    ) -> None:
        self._digest = DIGESTS[mechanism]
        self._password = password
        self._header = f"n,{'a=' + authorization_id if authorization_id else ''},"
        escaped = name.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={escaped},r={nonce}" + (f",{extensions}" if extensions else "")
        self._signature = b""

    def first(self) -> bytes:
        """Return the first message."""
        return (self._header + self._bare).encode()

    def final(self, server_first: bytes) -> bytes:
        """Return the final message, with the proof that the server's first message asks for."""
        text = server_first.decode()
        nonce, salt, iterations = (part.partition("=")[2] for part in text.split(","))
        salted = hashlib.pbkdf2_hmac(
            self._digest, self._password.encode(), b64decode(salt), int(iterations)
        )
        client_key = hmac.digest(salted, b"Client Key", self._digest)
        stored_key = hashlib.new(self._digest, client_key).digest()
        unproved = f"c={b64encode(self._header.encode()).decode()},r={nonce}"
        signed = f"{self._bare},{text},{unproved}".encode()
        signature = hmac.digest(stored_key, signed, self._digest)
        proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
        server_key = hmac.digest(salted, b"Server Key", self._digest)
        self._signature = hmac.digest(server_key, signed, self._digest)
        return f"{unproved},p={b64encode(proof).decode()}".encode()

    def is_server(self, server_final: bytes) -> bool:
        """Say whether the last message proves that the server knows the password too."""
        return server_final == b"v=" + b64encode(self._signature)


def stored(mechanism: str, password: str, iterations: int = 4096) -> ScramCredential:
    """Return a credential as a server keeps it."""
    return credential_of(mechanism, password, iterations, b"3xy6z7wq0k")


def salted_password(mechanism: str, password: str, salt: bytes, iterations: int = 4096) -> bytes:
    """Return what a client sends of a password to have it stored."""
    return hashlib.pbkdf2_hmac(DIGESTS[mechanism], password.encode(), salt, iterations)


def scram_login(
    connection: FrameClient,
    mechanism: str,
    name: str,
    password: str,
    extensions: str = "",
    *,
    on_challenge: Callable[[bytes], None] = lambda _: None,
) -> Any:
    """Log in over a connection; return the last answer of the server, good or bad."""
    client = ScramClient(mechanism, name, password, extensions=extensions)
    hand = connection.ask(SaslHandshakeRequest(mechanism=mechanism), SaslHandshakeResponse, 1)
    assert hand.error_code == 0, hand
    first = SaslAuthenticateRequest(auth_bytes=client.first())
    answer = connection.ask(first, SaslAuthenticateResponse, 2)
    if answer.error_code:
        return answer
    on_challenge(answer.auth_bytes)
    final = SaslAuthenticateRequest(auth_bytes=client.final(answer.auth_bytes))
    answer = connection.ask(final, SaslAuthenticateResponse, 2)
    assert answer.error_code or client.is_server(answer.auth_bytes)
    return answer
