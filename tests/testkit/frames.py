"""A client that speaks in single frames, so that a test can say exactly what it sends and got."""

import select
import socket
import struct
from typing import Any, NamedTuple, Self

from doorkeeper_wire.framing import RequestHeader, encode_request_header
from doorkeeper_wire.message import Record
from doorkeeper_wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from testkit.load import scaled

TIMEOUT_S = 60

API_VERSIONS = 18


class Closed(NamedTuple):
    """What an exchange gives when the server closes the connection without an answer."""


class FrameClient:
    """One connection. ``ask`` sends a message and decodes what comes back."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=scaled(TIMEOUT_S))
        self._correlation_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def is_open(self) -> bool:
        """Say whether the server has left it open: one that long asked nothing it may close."""
        readable, _, _ = select.select([self._socket], [], [], 0)
        try:
            return not readable or self._socket.recv(1, socket.MSG_PEEK) != b""
        except ConnectionError:
            return False

    def ask(self, request: Any, response: Any, version: int, *, header: bytes | None = None) -> Any:
        """Send a request; return the response message, or ``Closed``."""
        body = self.exchange(request.API_KEY, version, request.encode(version), header=header)
        if isinstance(body, Closed):
            return body
        flexible = version >= response.FLEXIBLE_FROM and request.API_KEY != API_VERSIONS
        message, _ = response.decode(body, 5 if flexible else 4, version)
        return message

    def exchange(
        self, api_key: int, version: int, body: bytes, *, header: bytes | None = None
    ) -> bytes | Closed:
        """Send a body behind a header; return the answer from its correlation id on."""
        self._correlation_id += 1
        if header is None:
            header = encode_request_header(
                RequestHeader(
                    api_key=api_key,
                    api_version=version,
                    correlation_id=self._correlation_id,
                    client_id="frames",
                )
            )
        answer = self.raw(struct.pack(">i", len(header) + len(body)) + header + body)
        if not isinstance(answer, Closed):
            assert struct.unpack_from(">i", answer)[0] == self._correlation_id
        return answer

    def raw(self, data: bytes) -> bytes | Closed:
        """Send bytes as they are; return one frame without its size, or ``Closed``."""
        try:
            self._socket.sendall(data)
            size = struct.unpack(">i", self._read(4))[0]
            return self._read(size)
        except (ConnectionError, EOFError):
            return Closed()

    def login(self, user: str, password: str) -> None:
        """Authenticate with SASL PLAIN."""
        hand = self.ask(SaslHandshakeRequest(mechanism="PLAIN"), SaslHandshakeResponse, 1)
        assert hand.error_code == 0
        token = b"\0".join((b"", user.encode(), password.encode()))
        done = self.ask(SaslAuthenticateRequest(auth_bytes=token), SaslAuthenticateResponse, 2)
        assert done.error_code == 0, done

    def _read(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            part = self._socket.recv(min(size, 1 << 16))
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def fields(message: Any) -> Any:
    """Return a message as plain values, tuples as lists, so that two can be compared, printed."""
    if isinstance(message, Record):
        return {name: fields(getattr(message, name)) for name in message.__struct_fields__}
    if isinstance(message, tuple):
        return [fields(part) for part in message]
    return message
