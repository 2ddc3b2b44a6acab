"""A connection to a server for one command: logs in, asks, and waits for each answer.

It speaks the oldest versions that Kafka 4 and Doorkeeper share, so it need not ask for them.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import socket
import struct
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Final, Self, TypeVar

from doorkeeper.authn.credentials import DIGESTS, ITERATIONS_MAX, base_36
from doorkeeper.errors import STOCK_TEXTS, ErrorCode
from doorkeeper_wire.errors import Malformed
from doorkeeper_wire.headers import RequestHeader, decode_response_header, encode_request
from doorkeeper_wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from doorkeeper.cli.command_config import CommandConfig, Login
    from doorkeeper_wire.message import Message

    Answer = TypeVar("Answer", bound=Message)

TIMEOUT_S: Final = 30.0
ANSWER_BYTES_MAX: Final = 100 * 1024 * 1024
CLIENT_ID: Final = "doorkeeper"
_NONCE_BYTES: Final = 17


class WireError(Exception):
    """A server cannot be reached, or refuses; the text is one line for people, without secrets."""


def refusal(code: int, text: str | None) -> str:
    """Return an error of an answer in words."""
    try:
        name = ErrorCode(code)
    except ValueError:
        return f"error {code}: {text or 'no text'}"
    return f"{name.name}: {text or STOCK_TEXTS.get(name, 'no text')}"


class WireClient:
    """One connection that is logged in."""

    def __init__(self, address: str, connected: socket.socket) -> None:
        """Take a connection; ``connect`` makes one."""
        self._address = address
        self._socket = connected
        self._correlation_id = 0

    @classmethod
    def connect(cls, addresses: str, config: CommandConfig) -> Self:
        """Connect to the first of some addresses that answers, and log in.

        Raises:
            WireError: none of them can be reached, or the login is refused.

        """
        problems = []
        for address in addresses.split(","):
            try:
                client = cls(address, _connected(address.strip(), config))
            except (OSError, WireError) as error:
                problems.append(f"{address.strip()}: {getattr(error, 'strerror', '') or error}")
                continue
            try:
                if config.login is not None:
                    client._log_in(config.login)
            except BaseException:
                client.close()
                raise
            return client
        raise WireError("; ".join(problems))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def ask(self, request: Message, answer: type[Answer], version: int) -> Answer:
        """Send a request and return what is answered.

        Raises:
            WireError: the server closes the connection, is silent, or says what nobody can read.

        """
        self._correlation_id += 1
        header = RequestHeader(
            api_key=request.API_KEY,
            api_version=version,
            correlation_id=self._correlation_id,
            client_id=CLIENT_ID,
        )
        try:
            self._socket.sendall(encode_request(header, request.encode(version)))
            (size,) = struct.unpack(">i", self._read(4))
            if not 0 <= size <= ANSWER_BYTES_MAX:
                raise WireError(f"{self._address}: this is no Kafka server")
            frame = self._read(size)
            found, at = decode_response_header(frame, request.API_KEY, version)
            if found.correlation_id != self._correlation_id:
                raise WireError(f"{self._address}: found the answer to another request")
            return answer.decode(frame, at, version)[0]
        except TimeoutError as error:
            raise WireError(f"{self._address}: no answer in {TIMEOUT_S:.0f} s") from error
        except OSError as error:
            raise WireError(f"{self._address}: {error.strerror or error}") from error
        except Malformed as error:
            raise WireError(f"{self._address}: an answer is malformed: {error}") from error

    def _read(self, size: int) -> bytes:
        """Return so many bytes; they are taken as they come, not promised."""
        parts = []
        while size:
            part = self._socket.recv(min(size, 65536))
            if not part:
                raise WireError(f"{self._address}: the server closed the connection")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _log_in(self, login: Login) -> None:
        shaken = self.ask(SaslHandshakeRequest(mechanism=login.mechanism), SaslHandshakeResponse, 1)
        if shaken.error_code:
            offered = ", ".join(shaken.mechanisms)
            raise WireError(
                f"{self._address}: {login.mechanism} is not offered; there are: {offered}"
            )
        if login.mechanism == "PLAIN":
            self._step(f"\0{login.name}\0{login.password}".encode())
            return
        scram = ScramLogin(login, base_36(os.urandom(_NONCE_BYTES)).decode())
        try:
            final = scram.final(self._step(scram.first()))
            proved = scram.proves(self._step(final))
        except (ValueError, IndexError, KeyError) as error:
            raise WireError(f"{self._address}: the server speaks no {login.mechanism}") from error
        if not proved:
            raise WireError(f"{self._address}: the server does not know the password it accepts")

    def _step(self, token: bytes) -> bytes:
        answer = self.ask(SaslAuthenticateRequest(auth_bytes=token), SaslAuthenticateResponse, 1)
        if answer.error_code:
            raise WireError(f"{self._address}: {refusal(answer.error_code, answer.error_message)}")
        return answer.auth_bytes


def _connected(address: str, config: CommandConfig) -> socket.socket:
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdigit():
        raise WireError("an address is HOST:PORT")
    plain = socket.create_connection((host, int(port)), timeout=TIMEOUT_S)
    if config.tls is None:
        return plain
    try:
        return config.tls.wrap_socket(plain, server_hostname=host)
    except BaseException:
        plain.close()
        raise


class ScramLogin:
    """The client's side of SCRAM (RFC 5802)."""

    def __init__(self, login: Login, nonce: str) -> None:
        """Begin; the nonce is ours and used once."""
        escaped = login.name.replace("=", "=3D").replace(",", "=2C")
        self._login = login
        self._nonce = nonce
        extension = ",tokenauth=true" if login.by_token else ""
        self._bare = f"n={escaped},r={nonce}{extension}"
        self._signature = b""

    def first(self) -> bytes:
        """Return the first message."""
        return f"n,,{self._bare}".encode()

    def final(self, server_first: bytes) -> bytes:
        """Return the proof that the server's message asks for.

        Raises:
            ValueError: the message is none of SCRAM, or asks for too much work.
            KeyError: it lacks something.

        """
        text = server_first.decode()
        parts = {part[:1]: part[2:] for part in text.split(",")}
        iterations = int(parts["i"])
        if not parts["r"].startswith(self._nonce) or not 0 < iterations <= ITERATIONS_MAX:
            raise ValueError("the server's first message")
        digest = DIGESTS[self._login.mechanism]
        salted = hashlib.pbkdf2_hmac(
            digest, self._login.password.encode(), b64decode(parts["s"]), iterations
        )
        client_key = hmac.digest(salted, b"Client Key", digest)
        unproved = f"c=biws,r={parts['r']}"
        signed = f"{self._bare},{text},{unproved}".encode()
        signature = hmac.digest(hashlib.new(digest, client_key).digest(), signed, digest)
        proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
        server_key = hmac.digest(salted, b"Server Key", digest)
        self._signature = hmac.digest(server_key, signed, digest)
        return f"{unproved},p={b64encode(proof).decode()}".encode()

    def proves(self, server_final: bytes) -> bool:
        """Say whether the server knows the password too."""
        return hmac.compare_digest(server_final, b"v=" + b64encode(self._signature))
