"""How long whole sets of ACLs take: import, export, plan and apply against a running server.

    python benchmarks/acl_sets.py [--acls N] [--quick]

Each line is one process of ``doorkeeper acls``, start and end included; beside it stands what it is
of the time of an import, which is the slowest.
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from doorkeeper.acls.formats.choosing import Format, write

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from testkit.acl import READ, allow, topic

START_S = 20.0


def port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        number: int = taken.getsockname()[1]
        return number


def timed(*words: str, status: int = 0) -> float:
    """Run a line of ``doorkeeper acls``; return its seconds."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "doorkeeper", "acls", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode != status:
        raise SystemExit(f"{' '.join(words)}: status {done.returncode}: {done.stderr}")
    return time.perf_counter() - start


def wait(number: int) -> None:
    """Wait until somebody listens."""
    end = time.monotonic() + START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", number), timeout=1).close()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return


def measured(folder: Path, count: int) -> None:
    """Measure with so many ACLs."""
    world = sorted(
        allow(f"user-{number % 997}", READ, topic(f"topic-{number}")) for number in range(count)
    )
    whole, fewer = folder / "whole.yaml", folder / "fewer.yaml"
    whole.write_text(write(world, Format.YAML))
    fewer.write_text(write(world[count // 100 :], Format.YAML))
    number = port()
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "doorkeeper", "serve"),
            *("--override", f"listeners=PLAINTEXT://127.0.0.1:{number}"),
            *("--override", f"doorkeeper.data.dir={folder / 'data'}"),
            "--override",
            "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            *("--override", "super.users=User:ANONYMOUS"),
            *("--override", "doorkeeper.log.levels=root=WARN"),
        ],
        stdout=subprocess.DEVNULL,
    )
    try:
        wait(number)
        place = f"kafka://127.0.0.1:{number}"
        rows = [
            ("import all", timed("import", str(whole), place)),
            ("export all", timed("export", place)),
            ("plan, nothing to do", timed("plan", str(whole), place, "--whole")),
            (
                "apply, 1 % to remove",
                timed("apply", str(fewer), place, "--whole", "--yes", "--max-removals", str(count)),
            ),
        ]
    finally:
        server.terminate()
        server.wait()
    print(f"{count:,} ACLs             seconds   of import")
    for name, seconds in rows:
        print(f"{name:24s} {seconds:7.2f}   {seconds / rows[0][1]:.2f}")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--acls", type=int, default=100_000)
    parser.add_argument("--quick", action="store_true", help="5,000 ACLs")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measured(Path(folder), 5_000 if chosen.quick else chosen.acls)


if __name__ == "__main__":
    main()
