"""What does the audit log cost a server that answers small requests?

    python benchmarks/audit.py [--answers N] [--rounds N] [--quick]

One server without an audit log and one with each kind of sync, with the same ACLs. Each request is
a DescribeAcls that the standard authorizer decides by an ACL: either always the same, whose answer
is cached, or one of 50,000 different ones, each of which is decided. Printed are requests a second
and, as on a busy machine these say little, the processor time of the server for each request;
beside both, how they compare with the server without an audit log. At least 0.9 is wanted.

What else the machine does is to hit all alike: a round asks each server, beginning with another one
than the round before, a ratio is between two of one round, and what is printed are medians. The
first round, in which servers take their memory from the system, does not count.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from doorkeeper_wire.framing import RequestHeader, encode_request
from doorkeeper_wire.messages.create_acls import AclCreation, CreateAclsRequest
from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest

# The load is that of benchmarks/server.py, beside this file.
LOAD: Any = import_module("server")

WANTED = 0.9
IN_FLIGHT = 16
CONNECTIONS = 4
DIFFERENT = 50_000
OFF = "off"
TRAILS = {
    OFF: "",
    "none": "doorkeeper.audit.dir={folder}/audit\ndoorkeeper.audit.sync=none\n",
    "interval": "doorkeeper.audit.dir={folder}/audit\n",
    "strict": "doorkeeper.audit.dir={folder}/audit\ndoorkeeper.audit.sync=strict\n",
}
SERVER_PROPERTIES = """\
listeners=PLAINTEXT://127.0.0.1:{port}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:root
allow.everyone.if.no.acl.found=true
doorkeeper.data.dir={folder}/data
"""


class Measured(NamedTuple):
    """Answers a second, and the server's processor time for each, in microseconds."""

    rate: float
    cpu_us: float


def describing() -> AclCreation:
    """Return the ACL that lets everybody describe, so that a rule is looked up."""
    return AclCreation(
        resource_type=4,
        resource_name="kafka-cluster",
        resource_pattern_type=3,
        principal="User:*",
        host="*",
        operation=2,
        permission_type=3,
    )


def question(number: int) -> bytes:
    """Return a question about one topic."""
    request = DescribeAclsRequest(
        resource_type_filter=2,
        resource_name_filter=f"topic-{number}",
        pattern_type_filter=3,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    header = RequestHeader(
        api_key=request.API_KEY, api_version=3, correlation_id=number, client_id="bench"
    )
    return encode_request(header, request.encode(3))


class Server:
    """A server that runs."""

    def __init__(self, lines: str, stack: ExitStack) -> None:
        """Start it, with a hundred ACLs and the one that counts."""
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.port: int = LOAD.free_port()
        config = self.folder / "server.properties"
        text = SERVER_PROPERTIES + lines
        config.write_text(text.format(port=self.port, folder=self.folder))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "doorkeeper", "serve", "--config", str(config)],
            stdout=subprocess.DEVNULL,
        )
        stack.callback(self.process.wait)
        stack.callback(self.process.terminate)
        self._wait()
        acls = (describing(), *map(LOAD.creation, range(100)))
        LOAD.once(self.port, LOAD.frame(CreateAclsRequest(creations=acls)))

    def _wait(self) -> None:
        deadline_s = time.monotonic() + 60
        while time.monotonic() < deadline_s:
            try:
                LOAD.once(self.port, LOAD.VERSIONS)
            except ConnectionRefusedError:
                time.sleep(0.05)
            else:
                return
        raise SystemExit("the server does not start")

    def cpu_s(self) -> float:
        """Return the processor time that all threads of the server have had.

        Source: Linux's ``clock_getcpuclockid(3)``: the clock of a process has this number.
        """
        return time.clock_gettime(~self.process.pid << 3 | 2)

    def measured(self, requests: list[bytes], answers: int) -> Measured:
        """Ask until there are so many answers."""
        callers = [LOAD.Caller(self.port, b"", 1) for _ in range(CONNECTIONS)]
        began_s, cpu_s, at = time.perf_counter(), self.cpu_s(), 0
        while at < answers:
            for caller in callers:
                batch = [requests[(at + each) % len(requests)] for each in range(IN_FLIGHT)]
                caller.socket.sendall(b"".join(batch))
                at += IN_FLIGHT
            for caller in callers:
                wanted = caller.answers + IN_FLIGHT
                while caller.answers < wanted:
                    caller.on_readable()
        took_s, cpu_s = time.perf_counter() - began_s, self.cpu_s() - cpu_s
        for caller in callers:
            caller.socket.close()
        return Measured(at / took_s, cpu_s / at * 1e6)


def show(kind: str, found: dict[str, list[Measured]]) -> None:
    """Print what was measured with one kind of requests."""
    print(f"{kind + ' requests':22}{'a second':>12}{'ratio':>7}{'CPU us':>9}{'ratio':>7}")
    for name, rows in found.items():
        pairs = list(zip(rows, found[OFF], strict=True))
        print(
            f"  audit: {name:13}"
            f"{statistics.median(row.rate for row in rows):12,.0f}"
            f"{statistics.median(row.rate / base.rate for row, base in pairs):7.2f}"
            f"{statistics.median(row.cpu_us for row in rows):9.1f}"
            f"{statistics.median(base.cpu_us / row.cpu_us for row, base in pairs):7.2f}",
            flush=True,
        )


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=50_000, help="of each server, each round")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--quick", action="store_true", help="20,000 answers, four rounds")
    options = parser.parse_args()
    answers, rounds = (20_000, 4) if options.quick else (options.answers, options.rounds)
    # Those that are remembered are answered several times as fast.
    kinds = {
        "the same": ([question(7)], 4 * answers),
        "different": ([question(number) for number in range(DIFFERENT)], answers),
    }
    with ExitStack() as stack:
        servers = {name: Server(lines, stack) for name, lines in TRAILS.items()}
        for kind, (requests, count) in kinds.items():
            found: dict[str, list[Measured]] = {name: [] for name in servers}
            for number in range(rounds + 1):
                at = number % len(servers)
                for name in [*servers, *servers][at : at + len(servers)]:
                    measured = servers[name].measured(requests, count)
                    if number:
                        found[name].append(measured)
            show(kind, found)
        written = (servers["interval"].folder / "audit").iterdir()
        size = sum(path.stat().st_size for path in written)
        print(f"written by the audit log: {size:,} bytes; wanted are ratios of {WANTED}")


if __name__ == "__main__":
    main()
