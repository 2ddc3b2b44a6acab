"""Do 200 connections that try wrong passwords at once leave others' latency as it was?

    python benchmarks/wrong_passwords.py [--seconds S] [--quick]

One server process for each way to keep users. A client that has logged in asks for Metadata, one
request after the other, first alone, then while another process has 200 connections that log in
with a wrong password, are refused and come again. Printed are the median and the 99th percentile
of both, their ratios, and how many refusals a second there were. The attackers run with a lower
priority: they would have machines of their own.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from doorkeeper.authn.users_file_changes import set_user
from doorkeeper_wire.headers import RequestHeader, encode_request
from doorkeeper_wire.messages.metadata import MetadataRequest
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateRequest
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from testkit.scram import ScramClient

ATTACKERS = 200
START_S = 20.0
PASSWORD = "correct-horse"
WRONG = b"battery-staple"
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"

SERVER_PROPERTIES = """\
listeners=CLIENTS://127.0.0.1:{port}
listener.security.protocol.map=CLIENTS:SASL_PLAINTEXT
sasl.enabled.mechanisms={mechanism}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:alice
doorkeeper.data.dir={folder}/data
doorkeeper.log.levels=root=WARN
socket.listen.backlog.size=1024
"""


def frame(message: Any, version: int) -> bytes:
    """Return a request."""
    header = RequestHeader(
        api_key=message.API_KEY, api_version=version, correlation_id=7, client_id="bench"
    )
    return encode_request(header, message.encode(version))


def authenticate(token: bytes) -> bytes:
    """Return a token's request."""
    return frame(SaslAuthenticateRequest(auth_bytes=token), 2)


def handshake(mechanism: str) -> bytes:
    """Return the request that chooses a mechanism."""
    return frame(SaslHandshakeRequest(mechanism=mechanism), 1)


METADATA = frame(MetadataRequest(topics=(), allow_auto_topic_creation=False), 12)


# --- those who try


async def attack(port: int, mechanism: str) -> None:
    """Try wrong passwords until the end of the process; print each second's refusals."""
    refusals = 0

    async def one() -> None:
        nonlocal refusals
        while True:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                await asked(reader, writer, handshake(mechanism))
                if mechanism == "PLAIN":
                    writer.write(authenticate(b"\0alice\0" + WRONG))
                else:
                    await prove_wrongly(reader, writer)
                await reader.read()
                refusals += 1
            finally:
                writer.close()

    tasks = [asyncio.create_task(one()) for _ in range(ATTACKERS)]
    while not any(task.done() for task in tasks):
        before, began_s = refusals, time.perf_counter()
        await asyncio.sleep(0.2)
        print((refusals - before) / (time.perf_counter() - began_s), flush=True)


async def prove_wrongly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Go through SCRAM with a proof of chance: computing one would only cost the attacker."""
    answer = await asked(reader, writer, authenticate(b"n,,n=alice,r=abc"))
    nonce = answer[answer.index(b"r=abc") : answer.index(b",s=")].decode()
    proof = b64encode(os.urandom(64)).decode()
    writer.write(authenticate(f"c=biws,{nonce},p={proof}".encode()))


async def asked(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
) -> bytes:
    """Send a request; return its answer."""
    writer.write(request)
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4)))


@contextmanager
def attackers(port: int, mechanism: str) -> Iterator[list[float]]:
    """Run them until the end of the block; the list then has their refusals a second."""
    rates: list[float] = []
    command = [sys.executable, __file__, "--attack", str(port), "--mechanism", mechanism]
    started = subprocess.Popen(
        ["nice", "-n", "10", *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert started.stdout is not None
    try:
        # All of them are there with the third number.
        for _ in range(3):
            started.stdout.readline()
        yield rates
    finally:
        started.terminate()
        rates += [float(line) for line in started.stdout.read().split()]
        started.wait()


# --- the one who is let in


class Client:
    """A client of its own, who has logged in."""

    def __init__(self, port: int, mechanism: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=START_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.ask(handshake(mechanism))
        if mechanism == "PLAIN":
            answer = self.ask(authenticate(f"\0alice\0{PASSWORD}".encode()))
        else:
            answer = self._scram(mechanism)
        assert answer[5:7] == b"\0\0", answer

    def _scram(self, mechanism: str) -> bytes:
        client = ScramClient(mechanism, "alice", PASSWORD)
        first = self.ask(authenticate(client.first()))
        challenge = first[first.index(b"r=") : first.rindex(b"i=") + 6].rstrip(b"\0")
        return self.ask(authenticate(client.final(challenge)))

    def ask(self, request: bytes) -> bytes:
        """Send a request; return its answer."""
        self.socket.sendall(request)
        return self._exactly(int.from_bytes(self._exactly(4)))

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += self.socket.recv(size - len(data))
        return data

    def latencies(self, seconds: float) -> list[float]:
        """Return how long each of many requests took, sorted, in seconds."""
        taken = []
        end_s = time.perf_counter() + seconds
        while (began_s := time.perf_counter()) < end_s:
            self.ask(METADATA)
            taken.append(time.perf_counter() - began_s)
            time.sleep(0.001)
        return sorted(taken)


def percentile(sorted_values: list[float], share: float) -> float:
    """Return the value below which this share lies."""
    return sorted_values[min(len(sorted_values) - 1, int(len(sorted_values) * share))]


# --- the servers


def in_jaas(_folder: Path) -> Mapping[str, str]:
    """Keep alice in the configuration."""
    return {
        "listener.name.clients.plain.sasl.jaas.config": (
            f'{PLAIN_MODULE} required user_alice="{PASSWORD}";'
        )
    }


def in_file(folder: Path) -> Mapping[str, str]:
    """Keep alice in a users file."""
    set_user(folder / "users.txt", "alice", PASSWORD, os.urandom(16))
    return {"doorkeeper.sasl.plain.users.file": str(folder / "users.txt")}


def in_store(folder: Path) -> Mapping[str, str]:
    """Keep alice as credentials of SCRAM."""
    subprocess.run(
        [
            *(sys.executable, "-m", "doorkeeper", "users", "add", "alice", "--password-file", "-"),
            *("--override", f"doorkeeper.data.dir={folder}/data"),
        ],
        input=PASSWORD.encode(),
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return {}


ROWS = (
    ("PLAIN, JAAS", "PLAIN", in_jaas),
    ("PLAIN, users file", "PLAIN", in_file),
    ("SCRAM-SHA-256", "SCRAM-SHA-256", in_store),
    ("SCRAM-SHA-512", "SCRAM-SHA-512", in_store),
)


def free_port() -> int:
    """Return a port that nobody has."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def server(port: int, config: Path) -> Iterator[None]:
    """Run a server until the end of the block; it is there when somebody answers at its port."""
    command = [sys.executable, "-m", "doorkeeper", "serve", "--config", str(config)]
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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


def measured(mechanism: str, users: Callable[[Path], Mapping[str, str]], seconds: float) -> str:
    """Return a row without its name."""
    port = free_port()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = folder / "server.properties"
        given = SERVER_PROPERTIES.format(port=port, mechanism=mechanism, folder=folder)
        config.write_text(given + "".join(f"{k}={v}\n" for k, v in users(folder).items()))
        with server(port, config):
            client = Client(port, mechanism)
            client.latencies(seconds / 3)
            alone = client.latencies(seconds)
            with attackers(port, mechanism) as rates:
                attacked = client.latencies(seconds)
            client.socket.close()
    cells = []
    for share in (0.5, 0.99):
        before, during = (1000 * percentile(each, share) for each in (alone, attacked))
        cells.append(f"{before:10.2f}{during:10.2f}{during / before:8.1f}")
    refusals = sum(rates) / len(rates) if rates else 0.0
    return f"{''.join(cells)}{refusals:12,.0f}"


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--quick", action="store_true", help="1 s for each number")
    parser.add_argument("--attack", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--mechanism", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.attack:
        asyncio.run(attack(options.attack, options.mechanism))
        return
    seconds = 1.0 if options.quick else options.seconds
    print(f"{ATTACKERS} connections try wrong passwords; Metadata of another client, in ms")
    head = f"{'p50':>10}{'during':>10}{'ratio':>8}{'p99':>10}{'during':>10}{'ratio':>8}"
    print(f"{'':20}{head}{'refused/s':>12}")
    for name, mechanism, users in ROWS:
        print(f"{name:20}{measured(mechanism, users, seconds)}", flush=True)


if __name__ == "__main__":
    main()
