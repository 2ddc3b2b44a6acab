"""What do wrong passwords cost those who are logged in already, and who wants to log in?

A server runs on a processor of its own. On another, a client that is logged in asks for Metadata,
one request after the other, and so do those who try wrong passwords: 200 connections that log in,
are refused (after the server's delay) and come again, in two ways:

    flood   each comes again at once, without an end
    burst   all 200 at the same moment, once a second: clients of Kafka wait for so long in the end

They run only when nothing else wants their processor: they would have machines of their own. What
they take from the measured client all the same shows in the column "decoy": there they try their
passwords on another server, on their own processor, and the measured one is left in peace. Printed
are the median and the 99th percentile alone, beside the decoy and during the attack, the ratio of
the last to the first, refusals a second, and how long a right login takes during the attack, from
the same address as the wrong ones.

Where other programs run, ``--real-time`` (for root) puts the server and the measured client before
them; only in the main thread, so that the server's threads give way as always.
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

from doorkeeper.server.security.users_file import set_user
from doorkeeper_wire.framing import RequestHeader, encode_request
from doorkeeper_wire.messages.metadata import MetadataRequest
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateRequest
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from testkit.scram import ScramClient

ATTACKERS = 200
CORES = sorted(os.sched_getaffinity(0))
HERE, THERE = CORES[-1], ("taskset", "--cpu-list", str(CORES[0]))
"""The measured client's processor, and what puts the server on another."""
IDLE = ("chrt", "--idle", "0")
"""What makes a process run only when nobody else wants to."""
REAL_TIME = ("chrt", "--reset-on-fork", "--fifo", "1")
"""What makes a process, without its children and other threads, run before all others."""
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


async def attack(port: int, mechanism: str, pause_s: float) -> None:
    """Try wrong passwords until the end of the process; print each second's refusals."""
    refusals = 0

    async def one() -> None:
        nonlocal refusals
        while True:
            if pause_s:
                await asyncio.sleep(pause_s - time.monotonic() % pause_s)
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
def attackers(port: int, mechanism: str, pause_s: float) -> Iterator[list[float]]:
    """Run them until the end of the block; the list then has their refusals a second."""
    rates: list[float] = []
    command = [sys.executable, __file__, "--attack", str(port), "--mechanism", mechanism]
    command += ["--pause", str(pause_s)]
    started = subprocess.Popen(
        [*behind_all(), *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
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


WAYS = {"flood": 0.0, "burst": 1.0}
"""How long after a refusal somebody comes again, in s; all at the same moment."""

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
def server(port: int, config: Path, *before: str) -> Iterator[None]:
    """Run a server until the end of the block; it is there when somebody answers at its port."""
    command = [*before, sys.executable, "-m", "doorkeeper", "serve", "--config", str(config)]
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


def before_all() -> tuple[str, ...]:
    """Return what makes a process run as this one does."""
    return () if os.sched_getscheduler(0) == os.SCHED_OTHER else REAL_TIME


def behind_all() -> tuple[str, ...]:
    """Return what makes a process run behind this one."""
    return IDLE if os.sched_getscheduler(0) == os.SCHED_OTHER else ()


def configured(
    folder: Path, mechanism: str, users: Callable[[Path], Mapping[str, str]]
) -> tuple[int, Path]:
    """Return the port of a server and the file that describes it."""
    folder.mkdir()
    port, config = free_port(), folder / "server.properties"
    given = SERVER_PROPERTIES.format(port=port, mechanism=mechanism, folder=folder)
    config.write_text(given + "".join(f"{k}={v}\n" for k, v in users(folder).items()))
    return port, config


def measured(
    mechanism: str, users: Callable[[Path], Mapping[str, str]], pause_s: float, seconds: float
) -> str:
    """Return a row without its name."""
    with tempfile.TemporaryDirectory() as name:
        port, config = configured(Path(name, "server"), mechanism, users)
        decoy_port, decoy = configured(Path(name, "decoy"), mechanism, users)
        with server(port, config, *before_all(), *THERE):
            client = Client(port, mechanism)
            client.latencies(seconds / 3)
            alone = client.latencies(seconds)
            with (
                server(decoy_port, decoy, *behind_all()),
                attackers(decoy_port, mechanism, pause_s),
            ):
                beside = client.latencies(seconds)
            with attackers(port, mechanism, pause_s) as rates:
                attacked = client.latencies(seconds)
                logins = login_times(port, mechanism, seconds)
            client.socket.close()
    cells = []
    for share in (0.5, 0.99):
        times = [1000 * percentile(each, share) for each in (alone, beside, attacked)]
        cells += [f"{time_ms:8.2f}" for time_ms in times]
        cells.append(f"{times[-1] / times[0]:7.1f}")
    cells.append(f"{sum(rates) / max(1, len(rates)):8,.0f}")
    cells += [f"{1000 * percentile(logins, share):7.0f}" for share in (0.5, 1.0)]
    return "".join(cells)


def login_times(port: int, mechanism: str, seconds: float) -> list[float]:
    """Return how long right logins took, one after the other, sorted, in seconds."""
    taken = []
    end_s = time.perf_counter() + seconds
    while (began_s := time.perf_counter()) < end_s:
        client = Client(port, mechanism)
        taken.append(time.perf_counter() - began_s)
        client.socket.close()
        time.sleep(0.05)
    return sorted(taken)


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--quick", action="store_true", help="1 s for each number")
    parser.add_argument("--real-time", action="store_true", help="before all other programs")
    parser.add_argument("--attack", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--mechanism", help=argparse.SUPPRESS)
    parser.add_argument("--pause", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.attack:
        asyncio.run(attack(options.attack, options.mechanism, options.pause))
        return
    seconds = 1.0 if options.quick else options.seconds
    os.sched_setaffinity(0, [HERE])
    if options.real_time:
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(0, policy, os.sched_param(1))
    print(f"{ATTACKERS} connections try wrong passwords; times of others, in ms")
    columns = f"{'alone':>8}{'decoy':>8}{'during':>8}{'ratio':>7}"
    print(f"{'':26}{'p50':>8}{'':23}{'p99':>8}{'':23}{'refused':>8}{'login':>7}")
    print(f"{'':26}{columns}{columns}{'/s':>8}{'p50':>7}{'max':>7}")
    for name, mechanism, users in ROWS:
        for way, pause_s in WAYS.items():
            row = measured(mechanism, users, pause_s, seconds)
            print(f"{name + ', ' + way:26}{row}", flush=True)


if __name__ == "__main__":
    main()
