"""Stands between clients and a server and writes down which requests pass.

The server must advertise the recorder's address, or clients go around it after their first
connection. Nothing is changed or held back; only requests are looked at.
"""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from doorkeeper_wire.api_keys import API_NAMES, ApiKey
from doorkeeper_wire.framing import FrameBuffer, decode_request_header
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest

NAMES_SOFTWARE_FROM = 3
"""ApiVersions carries the client's software since this version."""


class Seen(NamedTuple):
    """One request that passed; ``software`` is told by ApiVersions only."""

    api: str
    version: int
    software: str | None = None

    def __str__(self) -> str:
        """Return the name and the version, as tables show them."""
        return f"{self.api} {self.version}"


class FrameRecorder:
    """A port of its own in front of a server; ``close`` frees it."""

    def __init__(self) -> None:
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._door.getsockname()[1]
        self._lock = threading.Lock()
        self._seen: list[Seen] = []
        self._to = 0

    def forward(self, port: int) -> None:
        """Begin to take connections and to pass them on to ``port`` of this machine."""
        self._to = port
        threading.Thread(target=self._accept, daemon=True).start()

    def taken(self) -> list[Seen]:
        """Return what has passed since the last call, in order of arrival."""
        with self._lock:
            seen, self._seen = self._seen, []
        return seen

    def close(self) -> None:
        """Take no more connections."""
        self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._door.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._to))
            requests = _Requests()
            back = threading.Thread(target=_pass_on, args=(server, client), daemon=True)
            back.start()
            there = threading.Thread(
                target=self._watch, args=(client, server, requests, back), daemon=True
            )
            there.start()

    def _watch(
        self,
        client: socket.socket,
        server: socket.socket,
        requests: "_Requests",
        back: threading.Thread,
    ) -> None:
        """Pass on what the client sends, and look at it; then close both ends."""

        def look(data: bytes) -> None:
            seen = requests.read(data)
            with self._lock:
                self._seen += seen

        with client, server:
            _pass_on(client, server, look)
            back.join()


def _pass_on(
    source: socket.socket, sink: socket.socket, look: Callable[[bytes], None] = lambda _: None
) -> None:
    """Pass on bytes until one end is gone; then the other shall be gone too."""
    with suppress(OSError):
        while data := source.recv(65536):
            look(data)
            sink.sendall(data)
    for end in (source, sink):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


class _Requests:
    """Reads the requests of one connection."""

    def __init__(self) -> None:
        self._frames = FrameBuffer(2**31 - 1)
        self._bare = False

    def read(self, data: bytes) -> list[Seen]:
        """Return the requests that these bytes complete."""
        return [seen for frame in self._frames.receive(data) for seen in self._one(frame)]

    def _one(self, frame: bytes) -> list[Seen]:
        if self._bare:
            # After SaslHandshake 0 comes a token without a header; with PLAIN it is one.
            self._bare = False
            return []
        header, offset = decode_request_header(frame)
        key, version = header.api_key, header.api_version
        self._bare = (key, version) == (ApiKey.SASL_HANDSHAKE, 0)
        return [Seen(API_NAMES[key], version, _software(frame, offset, key, version))]


def _software(frame: bytes, offset: int, key: int, version: int) -> str | None:
    if key != ApiKey.API_VERSIONS or not (
        NAMES_SOFTWARE_FROM <= version <= ApiVersionsRequest.MAX_VERSION
    ):
        return None
    request, _ = ApiVersionsRequest.decode(frame, offset, version)
    return f"{request.client_software_name}/{request.client_software_version}"
