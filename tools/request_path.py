"""Follows requests through the code, and writes the path of CreateAcls into ARCHITECTURE.md.

.venv/bin/python tools/request_path.py [--list] [--write]

A server with a new store answers each request a few times. While it answers once more, every call
of a Python function in our own packages is recorded, in all threads.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
PAGE: Final = ROOT / "ARCHITECTURE.md"
SOURCES: Final = (ROOT / "server", ROOT / "protocol")
CREATION: Final = "CreateAcls"
DENIAL: Final = "DescribeAcls, denied"
REPEATS: Final = 5
"""Answered before the recorded request: modules are imported and caches filled."""
AFTER_S: Final = 0.2
"""What threads do after the response is recorded as well."""
ROW: Final = re.compile(r"^\| (\d+) \| `([\w.]+)` \| (.*) \|$", re.MULTILINE)


class Course(NamedTuple):
    """What one request enters."""

    modules: Sequence[str]
    """In the order of their first call, without ``doorkeeper.`` and ``server.``."""
    functions: int
    hops: int
    """Successive calls in different modules."""


class Recorder:
    """Records calls of functions in our packages while it is on."""

    def __init__(self) -> None:
        self.on = False
        self._calls: list[tuple[str, str]] = []

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        if self.on and event == "call" and frame.f_code.co_filename.startswith(FOLDERS):
            self._calls.append((frame.f_code.co_filename, frame.f_code.co_qualname))

    def course(self) -> Course:
        """Return what was recorded, and forget it."""
        calls, self._calls = self._calls, []
        files = [file for file, _ in calls]
        return Course(
            modules=[module_name(Path(file)) for file in dict.fromkeys(files)],
            functions=len(set(calls)),
            hops=sum(one != other for one, other in pairwise(files)),
        )


FOLDERS: Final = tuple(f"{source}{os.sep}" for source in SOURCES)


def module_name(file: Path) -> str:
    """Return the name of a module as ARCHITECTURE.md has it."""
    (source,) = (source for source in SOURCES if file.is_relative_to(source))
    parts = file.relative_to(source).with_suffix("").parts
    name = ".".join(part for part in parts if part != "__init__")
    return name.removeprefix("doorkeeper.").removeprefix("server.")


def string(value: str | None) -> bytes:
    if value is None:
        return struct.pack(">h", -1)
    return struct.pack(">h", len(value)) + value.encode()


def create_acls(number: int) -> bytes:
    """Return a request, version 1: User:alice may READ topic orders-N from all hosts."""
    names = string(f"orders-{number}") + b"\x03" + string("User:alice") + string("*")
    return struct.pack(">hhi", 30, 1, number) + string("path") + b"\0\0\0\1\2" + names + b"\3\3"


def describe_acls(number: int) -> bytes:
    """Return a request, version 1: the ACLs of topic orders-N."""
    names = string(f"orders-{number}") + b"\x03" + string(None) + string(None)
    return struct.pack(">hhi", 29, 1, number) + string("path") + b"\x02" + names + b"\x01\x01"


def ask(connection: socket.socket, frame: bytes) -> None:
    connection.sendall(struct.pack(">i", len(frame)) + frame)
    (size,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
    connection.recv(size, socket.MSG_WAITALL)


def serve(folder: Path, name: str) -> None:
    """Run a server that answers a request of a super user, or denies it; print its course."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    request, super_user = REQUESTS[name]
    config = folder / "server.properties"
    config.write_text(
        f"listeners=PLAINTEXT://127.0.0.1:{port}\n"
        f"super.users=User:{super_user}\n"
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
        f"doorkeeper.data.dir={folder}/data\n"
    )
    recorder = Recorder()

    def drive() -> None:
        with connected(port) as connection:
            for number in range(REPEATS):
                ask(connection, request(number))
            time.sleep(AFTER_S)
            recorder.on = True
            ask(connection, request(REPEATS))
            time.sleep(AFTER_S)
            recorder.on = False
        (folder / "course.json").write_text(json.dumps(recorder.course()))
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=drive, daemon=True).start()
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    sys.argv = ["doorkeeper", "serve", "--config", str(config)]
    from doorkeeper.cli import main

    main()


def connected(port: int) -> socket.socket:
    """Return a connection as soon as the server listens."""
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            time.sleep(0.02)


REQUESTS: Final[Mapping[str, tuple[Callable[[int], bytes], str]]] = {
    CREATION: (create_acls, "ANONYMOUS"),
    DENIAL: (describe_acls, "admin"),
}
"""By name: the request by its number, and the super user of the server that answers it."""


def course(name: str) -> Course:
    """Run a server of our own and return what a request enters in it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--serve", folder, name]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        result = Path(folder) / "course.json"
        if not result.exists():
            raise SystemExit(f"the server of {name} failed:\n{ended.stderr}")
        return Course(*json.loads(result.read_text()))


def purpose(module: str) -> str:
    """Return the first line of a module's docstring."""
    for prefix in ("server/doorkeeper/server", "server/doorkeeper", "protocol"):
        place = ROOT / prefix / module.replace(".", "/")
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file.exists():
                text = ast.get_docstring(ast.parse(file.read_text())) or ""
                return text.partition("\n")[0].rstrip(".")
    raise SystemExit(f"no module {module}")


def with_path(page: str, modules: Sequence[str]) -> str:
    """Return ARCHITECTURE.md with the rows of a path; modules that had a row keep its text."""
    rows = list(ROW.finditer(page))
    texts = {row[2]: row[3] for row in rows}
    table = "\n".join(
        f"| {number} | `{module}` | {texts.get(module) or purpose(module)} |"
        for number, module in enumerate(modules, 1)
    )
    return page[: rows[0].start()] + table + page[rows[-1].end() :]


def main() -> None:
    """Print the counts of each request; list their modules, or write the page, as asked."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="print the modules of each request")
    parser.add_argument("--write", action="store_true", help="write the path into ARCHITECTURE.md")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(Path(options.serve[0]), options.serve[1])
        return
    for name in REQUESTS:
        found = course(name)
        counts = f"{len(found.modules):3} modules {found.functions:4} functions {found.hops:4} hops"
        print(f"{name:24}{counts}")
        if options.list:
            print("".join(f"    {module}\n" for module in found.modules), end="")
        if options.write and name == CREATION:
            PAGE.write_text(with_path(PAGE.read_text(), found.modules))


if __name__ == "__main__":
    main()
