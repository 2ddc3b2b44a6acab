"""How many requests a second does the server answer, beside the simplest server there is?

    python benchmarks/server.py [--seconds S] [--quick]

One server process, one load generator over loopback sockets: 1 and 32 connections, 1 and 16
requests in flight on each. The baseline echoes frames of the same size with asyncio streams and
knows nothing of Kafka. Printed are requests a second and the ratio to the baseline of the same
row; on a machine with two cores the generator takes one of them.
"""

from __future__ import annotations

import argparse
import asyncio
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from doorkeeper_wire.framing import RequestHeader, encode_request
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest
from doorkeeper_wire.messages.create_acls import AclCreation, CreateAclsRequest
from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest

ROWS = ((1, 1), (32, 1), (1, 16), (32, 16))
ACLS = 1000
START_S = 20.0

SERVER_PROPERTIES = """\
listeners=PLAINTEXT://127.0.0.1:{port}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
doorkeeper.data.dir={folder}/data
"""


def frame(message: ApiVersionsRequest | CreateAclsRequest | DescribeAclsRequest) -> bytes:
    """Return a request of version 3."""
    header = RequestHeader(
        api_key=message.API_KEY, api_version=3, correlation_id=7, client_id="bench"
    )
    return encode_request(header, message.encode(3))


VERSIONS = frame(ApiVersionsRequest(client_software_name="bench", client_software_version="1"))
DESCRIBE = frame(
    DescribeAclsRequest(
        resource_type_filter=2,
        resource_name_filter="topic-7",
        pattern_type_filter=3,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
)
ECHO = (100).to_bytes(4) + bytes(100)


def creation(number: int) -> AclCreation:
    """Return one of the ACLs that the server holds; each topic has one."""
    return AclCreation(
        resource_type=2,
        resource_name=f"topic-{number}",
        resource_pattern_type=3,
        principal=f"User:user-{number % 50}",
        host="*",
        operation=3,
        permission_type=3,
    )


# --- the servers


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send each frame back, as a first server would."""
    try:
        while True:
            size = await reader.readexactly(4)
            writer.write(size + await reader.readexactly(int.from_bytes(size)))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionResetError):
        writer.close()


async def serve_echo(port: int) -> None:
    """Run the baseline."""
    server = await asyncio.start_server(echo, "127.0.0.1", port)
    await server.serve_forever()


def free_port() -> int:
    """Return a port that nobody has."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def process(*command: str, port: int) -> Iterator[None]:
    """Run a server until the end of the block; it is there when somebody answers at its port."""
    started = subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline_s = time.monotonic() + START_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                if time.monotonic() > deadline_s or started.poll() is not None:
                    raise
                time.sleep(0.02)
        yield
    finally:
        started.terminate()
        started.wait()


# --- the load


class Caller:
    """One connection that keeps its requests in flight, and counts answers."""

    def __init__(self, port: int, request: bytes, in_flight: int) -> None:
        """Connect, and send the first requests."""
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answers = 0
        self._request = request
        self._held = b""
        self.socket.sendall(request * in_flight)

    def on_readable(self) -> None:
        """Take the answers that are there; send a request for each."""
        data = self._held + self.socket.recv(1 << 18)
        at, count = 0, 0
        while len(data) - at >= 4:
            end = at + 4 + int.from_bytes(data[at : at + 4])
            if end > len(data):
                break
            at, count = end, count + 1
        self._held = data[at:]
        self.answers += count
        if count:
            self.socket.sendall(self._request * count)


def rate(port: int, request: bytes, connections: int, in_flight: int, seconds: float) -> float:
    """Return answers a second."""
    callers = [Caller(port, request, in_flight) for _ in range(connections)]
    with selectors.DefaultSelector() as selector:
        for caller in callers:
            selector.register(caller.socket, selectors.EVENT_READ, caller)
        run_for(selector, seconds / 5)
        before, began_s = sum(caller.answers for caller in callers), time.perf_counter()
        run_for(selector, seconds)
        took_s = time.perf_counter() - began_s
    answers = sum(caller.answers for caller in callers) - before
    for caller in callers:
        caller.socket.close()
    return answers / took_s


def run_for(selector: selectors.BaseSelector, seconds: float) -> None:
    """Keep the callers busy."""
    deadline_s = time.perf_counter() + seconds
    while time.perf_counter() < deadline_s:
        for key, _ in selector.select(0.1):
            key.data.on_readable()


def once(port: int, request: bytes) -> None:
    """Send one request and wait for its answer."""
    caller = Caller(port, request, 1)
    while not caller.answers:
        caller.on_readable()
    caller.socket.close()


def measured(port: int, request: bytes, seconds: float) -> list[float]:
    """Return the rates of all rows."""
    return [rate(port, request, connections, in_flight, seconds) for connections, in_flight in ROWS]


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--quick", action="store_true", help="0.3 s for each number")
    parser.add_argument("--echo", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.echo:
        asyncio.run(serve_echo(options.echo))
        return
    seconds = 0.3 if options.quick else options.seconds
    port = free_port()
    with process(__file__, "--echo", str(port), port=port):
        baseline = measured(port, ECHO, seconds)
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "server.properties"
        config.write_text(SERVER_PROPERTIES.format(port=port, folder=folder))
        with process("-m", "doorkeeper", "serve", "--config", str(config), port=port):
            once(port, frame(CreateAclsRequest(creations=tuple(map(creation, range(ACLS))))))
            results = {
                "ApiVersions 3": measured(port, VERSIONS, seconds),
                f"DescribeAcls 3, one of {ACLS} ACLs": measured(port, DESCRIBE, seconds),
            }
    heads = [f"{connections} x {in_flight}" for connections, in_flight in ROWS]
    print(f"{'requests a second (ratio)':34}" + "".join(f"{head:>18}" for head in heads))
    print(f"{'echo, asyncio streams':34}" + "".join(f"{value:18,.0f}" for value in baseline))
    for name, values in results.items():
        cells = (
            f"{value:,.0f} ({value / base:.2f})"
            for value, base in zip(values, baseline, strict=True)
        )
        print(f"{name:34}" + "".join(f"{cell:>18}" for cell in cells))


if __name__ == "__main__":
    main()
