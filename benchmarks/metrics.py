"""What do metrics cost: how many requests a second are left when they are counted and scraped?

    python benchmarks/metrics.py [--rounds N] [--quick]

Two server processes with the same ACLs, one with the operations port on and scraped every 5 s, one
without. They are loaded in turns, round by round, by one connection with 1 or 16 requests in
flight, so that what else happens on the machine hits both. Printed are the medians of requests a
second and of the server's processor time for one request, and their ratios to the server without;
on a machine with other work the second ratio is the one to read.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from statistics import median
from typing import NamedTuple

from doorkeeper_wire.framing import RequestHeader, encode_request
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest
from doorkeeper_wire.messages.create_acls import AclCreation, CreateAclsRequest
from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest

ACLS = 1000
IN_FLIGHT = (1, 16)
START_S = 30.0
TICKS_PER_S = os.sysconf("SC_CLK_TCK")

PROPERTIES = """\
listeners=PLAINTEXT://127.0.0.1:{port}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
doorkeeper.data.dir={folder}/data-{port}
"""


def frame(message: ApiVersionsRequest | CreateAclsRequest | DescribeAclsRequest) -> bytes:
    """Return a request of version 3."""
    header = RequestHeader(
        api_key=message.API_KEY, api_version=3, correlation_id=7, client_id="bench"
    )
    return encode_request(header, message.encode(3))


REQUESTS = {
    "ApiVersions 3": frame(
        ApiVersionsRequest(client_software_name="bench", client_software_version="1")
    ),
    f"DescribeAcls 3, 1 of {ACLS} ACLs": frame(
        DescribeAclsRequest(
            resource_type_filter=2,
            resource_name_filter="topic-7",
            pattern_type_filter=3,
            principal_filter=None,
            host_filter=None,
            operation=1,
            permission_type=1,
        )
    ),
}
CREATION = frame(
    CreateAclsRequest(
        creations=tuple(
            AclCreation(
                resource_type=2,
                resource_name=f"topic-{number}",
                resource_pattern_type=3,
                principal=f"User:user-{number % 50}",
                host="*",
                operation=3,
                permission_type=3,
            )
            for number in range(ACLS)
        )
    )
)


class Server(NamedTuple):
    """A server that runs."""

    process: subprocess.Popen[bytes]
    port: int

    def cpu_s(self) -> float:
        """Return the processor time that it has had."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


class Round(NamedTuple):
    """What a server did in one round."""

    rate: float
    cpu_us: float


def free_port() -> int:
    """Return a port that nobody has."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def serving(folder: str, *overrides: str) -> Iterator[Server]:
    """Run a server with its ACLs until the end of the block."""
    port = free_port()
    config = Path(folder) / f"{port}.properties"
    config.write_text(PROPERTIES.format(port=port, folder=folder) + "\n".join(overrides))
    process = subprocess.Popen(
        [sys.executable, "-m", "doorkeeper", "serve", "--config", str(config)],
        stdout=subprocess.DEVNULL,
    )
    try:
        deadline_s = time.monotonic() + START_S
        while True:
            try:
                exchange(port, CREATION, 1, 0)
                break
            except ConnectionRefusedError:
                if time.monotonic() > deadline_s or process.poll() is not None:
                    raise
                time.sleep(0.05)
        yield Server(process, port)
    finally:
        process.terminate()
        process.wait()


def exchange(port: int, request: bytes, in_flight: int, seconds: float) -> int:
    """Keep requests in flight for a time, then take the rest; return how many were answered."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(request * in_flight)
        answers, held, deadline_s = 0, b"", time.perf_counter() + seconds
        while in_flight:
            data = connection.recv(1 << 18)
            assert data, "the server ended the connection"
            held += data
            at, count = 0, 0
            while len(held) - at >= 4:
                end = at + 4 + int.from_bytes(held[at : at + 4])
                if end > len(held):
                    break
                at, count = end, count + 1
            held = held[at:]
            answers, in_flight = answers + count, in_flight - count
            if time.perf_counter() < deadline_s:
                connection.sendall(request * count)
                in_flight += count
        return answers


def scrape(port: int, over: threading.Event) -> None:
    """Ask for the metrics three times as often as Prometheus usually does."""
    while not over.wait(5.0):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
            assert b"doorkeeper_requests_total" in page.read()


def measured(server: Server, request: bytes, in_flight: int, seconds: float) -> Round:
    """Load a server for a time."""
    cpu_s, began_s = server.cpu_s(), time.perf_counter()
    answers = exchange(server.port, request, in_flight, seconds)
    took_s = time.perf_counter() - began_s
    return Round(answers / took_s, (server.cpu_s() - cpu_s) / answers * 1e6)


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="5 short rounds")
    options = parser.parse_args()
    rounds, seconds = (5, 0.5) if options.quick else (options.rounds, 1.0)
    over, http = threading.Event(), free_port()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        listener = f"doorkeeper.http.listener=http://127.0.0.1:{http}"
        with_metrics = running.enter_context(serving(folder, listener))
        without = running.enter_context(serving(folder))
        scraping = threading.Thread(target=scrape, args=(http, over))
        scraping.start()
        print(f"{'':38}{'requests a second':>26}{'CPU us a request':>24}")
        print(f"{'':38}" + f"{'without':>9}{'with':>9}{'ratio':>8}" * 2)
        for (name, request), in_flight in product(REQUESTS.items(), IN_FLIGHT):
            found = [
                [measured(each, request, in_flight, seconds) for each in (without, with_metrics)]
                for _ in range(rounds)
            ]
            rates = [median(pair[side].rate for pair in found) for side in (0, 1)]
            cpu_us = [median(pair[side].cpu_us for pair in found) for side in (0, 1)]
            print(
                f"{f'{name}, {in_flight}':38}"
                f"{rates[0]:9,.0f}{rates[1]:9,.0f}{rates[1] / rates[0]:8.3f}"
                f"{cpu_us[0]:9.1f}{cpu_us[1]:9.1f}{cpu_us[0] / cpu_us[1]:8.3f}"
            )
        over.set()
        scraping.join()


if __name__ == "__main__":
    main()
