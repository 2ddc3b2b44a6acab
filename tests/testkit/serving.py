"""``doorkeeper serve`` in a process of its own, and frames to and from it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any, Self

from doorkeeper_wire.framing import RequestHeader, decode_response_header, encode_request
from doorkeeper_wire.messages.create_acls import AclCreation, CreateAclsRequest
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

START_S = 60
STOP_S = 60


class Serving:
    """A running server. What it logs is read, line by line, as it comes."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        read_log: bool = True,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start it in this folder, on free ports if nothing else is said.

        What ``environment`` has in PYTHONPATH comes before what is there.
        """
        if not arguments:
            arguments = ("--override", "listeners=PLAINTEXT://localhost:0")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "doorkeeper", "serve", *arguments],
            cwd=folder,
            env=_environment(environment or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
        )
        self.lines: list[dict[str, Any]] = []
        self._came = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        if read_log:
            self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(scaled(STOP_S))
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            if self._reader.ident is not None:
                self._reader.join(scaled(STOP_S))
            stream.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._came:
                self.lines.append(json.loads(line))
                self._came.notify_all()
        with self._came:
            self._ended = True
            self._came.notify_all()

    def line(self, event: str, count: int = 1) -> dict[str, Any]:
        """Wait for the line of an event, or for its so-manyth; fail where the log ends first."""
        with self._came:
            self._came.wait_for(
                lambda: self._ended or len(self.of(event)) >= count, scaled(START_S)
            )
            found = self.of(event)
        assert len(found) >= count, (self.lines, self.errors())
        return found[count - 1]

    def of(self, event: str) -> list[dict[str, Any]]:
        """Return the lines of an event that have come."""
        return [line for line in self.lines if line["event"] == event]

    def errors(self) -> str:
        """Return what an ended process wrote to stderr."""
        if self.process.poll() is None:
            return ""
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()

    def port(self, listener: str = "PLAINTEXT") -> int:
        """Wait for the start; return the port that a listener advertises."""
        address: str = self.line("started")["listeners"][listener]
        return int(address.rpartition(":")[2])

    def connect(self, listener: str = "PLAINTEXT") -> Conversation:
        """Connect to a listener."""
        return Conversation(self.port(listener))

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal; return the exit status."""
        self.process.send_signal(number)
        return self.process.wait(scaled(STOP_S))


def _environment(changes: Mapping[str, str]) -> dict[str, str]:
    paths = [each["PYTHONPATH"] for each in (changes, os.environ) if each.get("PYTHONPATH")]
    return {**os.environ, **changes, "PYTHONPATH": os.pathsep.join(paths)}


class Conversation:
    """One connection: requests and answers, one after the other."""

    def __init__(self, port: int) -> None:
        """Connect."""
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=scaled(START_S))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.socket.close()

    def send(self, message: Any, version: int, correlation_id: int = 1) -> None:
        """Send a request."""
        header = RequestHeader(
            api_key=message.API_KEY,
            api_version=version,
            correlation_id=correlation_id,
            client_id="test",
        )
        self.socket.sendall(encode_request(header, message.encode(version)))

    def answer(self, response: type[Any], version: int) -> Any:
        """Return the next answer; EOFError where the server ended the connection."""
        frame = self._exactly(int.from_bytes(self._exactly(4)))
        _, at = decode_response_header(frame, response.API_KEY, version)
        return response.decode(frame, at, version)[0]

    def call(self, message: Any, response: type[Any], version: int) -> Any:
        """Send a request and return its answer."""
        self.send(message, version)
        return self.answer(response, version)

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data


def creation(*principals: str) -> CreateAclsRequest:
    """Return a request that lets each principal read the topic orders."""
    return CreateAclsRequest(
        creations=tuple(
            AclCreation(
                resource_type=2,
                resource_name="orders",
                resource_pattern_type=3,
                principal=principal,
                host="*",
                operation=3,
                permission_type=3,
            )
            for principal in principals
        )
    )
