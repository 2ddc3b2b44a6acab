"""How long do other clients wait for the largest requests of somebody without any rights?

    python benchmarks/large_requests.py [--quick] [--only METADATA]

One server process with its default log. A client in a process of its own sends DescribeAcls of one
topic every 10 ms, as in ``large_operations.py``; printed is its 99th percentile while nobody else
asks, and beside each of the following, and how much the log grew.

    each array of each API    of 99,000 elements, by a user without any ACL, again and again for two
                              seconds. ``topics[].partitions`` is an array in the only element of
                              another one.
    before the login          ApiVersions with as many tagged fields as a frame holds, from four
                              connections at a time

Goal: within 5 ms of the 99th percentile alone, and at most 1 MB of log for a request.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

from construct import Bytes, FormatField, Renamed

from administrator import Line, free_port, reachable
from doorkeeper.server.api.registry import APIS
from doorkeeper.server.api.unserved import api_of
from doorkeeper_wire.api_keys import API_NAMES
from doorkeeper_wire.declared import tree
from doorkeeper_wire.declared.nodes import (
    Array,
    Flag,
    NullableRecord,
    Octets,
    Record,
    Text,
)
from doorkeeper_wire.framing import RequestHeader, encode_request
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateRequest
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest
from large_operations import GOAL_MS, beside, percentile_ms

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

ELEMENTS = 99_000
FOR_S = 2.0
ALONE_S = 5.0
LOG_BYTES_MAX = 1_000_000
UNAUTHENTICATED_BYTES_MAX = 524_288

SERVER_PROPERTIES = """\
listeners=PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{sasl_port}
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required user_mallory="secret";
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
doorkeeper.data.dir={folder}/data
"""


class Result(NamedTuple):
    """The latencies of the other client beside requests; the log and the time for each of these."""

    name: str
    latencies_s: list[float]
    log_bytes: float
    request_s: float


class Attack:
    """Sends a frame again and again; counts how often it was answered, or the connection closed."""

    def __init__(
        self, frame: bytes, port: int, *, connections: int = 1, login: bool = True
    ) -> None:
        self._frame, self._port = frame, port
        self._connections, self._login = connections, login
        self.sent = 0

    async def __call__(self, _port: int) -> None:
        ends_s = time.monotonic() + FOR_S
        await asyncio.gather(*(self._send(ends_s) for _ in range(self._connections)))

    async def _send(self, ends_s: float) -> None:
        line: Line | None = None
        while time.monotonic() < ends_s:
            try:
                if line is None:
                    line = await Line.dial(self._port)
                    if self._login:
                        for frame in LOGIN:
                            await line.ask(frame)
                await line.ask(self._frame)
            except (asyncio.IncompleteReadError, ConnectionError):
                # Refused requests end the connection.
                line = None
            self.sent += 1
        if line is not None:
            line.writer.close()


def main() -> None:
    """Measure and print; exit with 1 if the goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="the usual APIs alone")
    parser.add_argument("--only", default="", help="the API whose name begins with it")
    options = parser.parse_args()
    names = QUICK if options.quick else ()
    if not asyncio.run(measure(names, options.only)):
        sys.exit(1)


async def measure(names: tuple[str, ...], only: str) -> bool:
    """Run the server; print a line for each request, and return whether all are within the goal."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as (port, sasl_port):
        await reachable(port)
        alone = await beside(port, "alone", lambda _: asyncio.sleep(ALONE_S))
        alone_ms = percentile_ms(alone.latencies_s, 99)
        columns = f"{'p50, ms':>9}{'p99, ms':>9}{'max, ms':>9}{'beyond':>9}"
        print(f"{'':58}{columns}{'s each':>8}{'log, kB':>9}")
        is_good = report(Result("alone", alone.latencies_s, 0, 0), alone_ms)
        for name, frame in requests():
            api = name.split(" ")[0]
            if (not names or api in names) and api.startswith(only):
                found = await attacked(port, name, Attack(frame, sasl_port), Path(folder))
                is_good = report(found, alone_ms) and is_good
        early = Attack(tagged(), sasl_port, connections=4, login=False)
        found = await attacked(port, "before the login: tagged fields", early, Path(folder))
        return report(found, alone_ms) and is_good


async def attacked(port: int, name: str, attack: Attack, folder: Path) -> Result:
    log = folder / "log"
    before = log.stat().st_size
    operation: Callable[[int], Awaitable[object]] = attack
    row = await beside(port, name, operation)
    # The log is written by a thread of its own.
    await asyncio.sleep(0.2)
    grown = log.stat().st_size - before
    return Result(name, row.latencies_s, grown / attack.sent, row.took_s / attack.sent)


def report(found: Result, alone_ms: float) -> bool:
    """Print a line; return whether it is within the goal."""
    p99_ms = percentile_ms(found.latencies_s, 99)
    is_good = p99_ms - alone_ms <= GOAL_MS and found.log_bytes <= LOG_BYTES_MAX
    print(
        f"{found.name:58}{percentile_ms(found.latencies_s, 50):9.2f}{p99_ms:9.2f}"
        f"{max(found.latencies_s) * 1e3:9.2f}{p99_ms - alone_ms:9.2f}"
        f"{found.request_s:8.2f}{found.log_bytes / 1e3:9.1f}{'' if is_good else '  MISSED'}",
        flush=True,
    )
    return is_good


# --- the requests

QUICK = ("Metadata", "DescribeGroups", "DescribeConfigs", "DeleteTopics", "CreateTopics")


def requests() -> Iterator[tuple[str, bytes]]:
    """Yield each array of each API, and a request with that array of ``ELEMENTS`` elements."""
    refusals = (api_of(key) for key in API_NAMES if key not in APIS)
    for api in (*APIS.values(), *(api for api in refusals if api is not None and api.on_broker)):
        declared = tree(f"{api.name}Request", api.max_version)
        for path in arrays(declared):
            body = declared.build(sample(declared, path, count()))
            header = RequestHeader(
                api_key=api.key, api_version=api.max_version, correlation_id=7, client_id="bench"
            )
            yield f"{api.name} {path}", encode_request(header, body)


def arrays(node: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of all arrays, as ``topics[].partitions``."""
    if isinstance(node, Renamed):
        node = node.subcon
    if isinstance(node, Array):
        yield path
        yield from arrays(node.element, f"{path}[]")
    elif isinstance(node, Record):
        for part in node.subcons:
            yield from arrays(part, f"{path}.{part.name}" if path else part.name)


def sample(node: Any, path: str, numbers: Iterator[int], at: str = "") -> Any:
    """Return a value whose array ``path`` is large, and all others empty or of one element."""
    if isinstance(node, Renamed):
        node = node.subcon
    if isinstance(node, Array):
        items = ELEMENTS if at == path else path.startswith(at)
        return [sample(node.element, path, numbers, f"{at}[]") for _ in range(items)]
    if isinstance(node, Record):
        values = {
            part.name: sample(part, path, numbers, f"{at}.{part.name}" if at else part.name)
            for part in node.subcons
        }
        values |= {absent.name: absent.default for absent in node.absent}
        if node.tags is not None:
            values |= {field.name: field.default for field in node.tags.known}
            values["unknown_tags"] = ()
        return values
    return plain(node, at, next(numbers))


def plain(node: Any, at: str, number: int) -> Any:
    """Return a value that no other element has, where that is possible."""
    if isinstance(node, Text):
        return f"User:u{number}" if "principal" in at and "type" not in at else f"t{number}"
    if isinstance(node, Octets):
        return b""
    if isinstance(node, Flag):
        return False
    if isinstance(node, Bytes):
        return bytes(node.length)
    if isinstance(node, NullableRecord):
        return None
    assert isinstance(node, FormatField)
    # 2 is the topic, a known operation, and a brief time-out; partitions differ.
    return number if "partition" in at and node.length == 4 else 2


def tagged() -> bytes:
    """Return an ApiVersions request with as many tagged fields as a frame holds."""
    header = RequestHeader(api_key=18, api_version=4, correlation_id=7, client_id="bench")
    tags = tuple((number, b"") for number in range(100_000))
    body = ApiVersionsRequest(
        client_software_name="a", client_software_version="1", unknown_tags=tags
    ).encode(4)
    return encode_request(header, body)


def sasl(message: Any, version: int) -> bytes:
    header = RequestHeader(
        api_key=message.API_KEY, api_version=version, correlation_id=7, client_id="bench"
    )
    return encode_request(header, message.encode(version))


LOGIN = (
    sasl(SaslHandshakeRequest(mechanism="PLAIN"), 1),
    sasl(SaslAuthenticateRequest(auth_bytes=b"\0mallory\0secret"), 2),
)


@contextmanager
def serving(folder: Path) -> Iterator[tuple[int, int]]:
    """Run a server; give its ports, without and with a login."""
    port, sasl_port = free_port(), free_port()
    config = folder / "server.properties"
    config.write_text(SERVER_PROPERTIES.format(port=port, sasl_port=sasl_port, folder=folder))
    command = (sys.executable, "-m", "doorkeeper", "serve", "--config", str(config))
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log)
        try:
            yield port, sasl_port
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
