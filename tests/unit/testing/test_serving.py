"""A server that serves keys from memory, in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from doorkeeper.testing.configuration import configuration_of
from doorkeeper.testing.fork_client import FORK_CLIENT
from testkit.forking import ended, wanted

if TYPE_CHECKING:
    from doorkeeper.testing.fork_server import ServeRequest
    from doorkeeper.testing.options import Options


def refusal_of(asked: ServeRequest) -> str:
    """Return what a server that does not start says on stderr."""
    server = FORK_CLIENT.fork(asked)
    told = server.stderr.read().decode()
    assert ended(server) == 1
    return told


def test_what_cannot_start_says_why(tmp_path: Path) -> None:
    """A line for each problem, as on the command line, and its status."""
    told = refusal_of(wanted(tmp_path, num_partitions="x"))

    assert told.startswith("doorkeeper: the test's: num.partitions: ")
    assert len(told.splitlines()) == 1


READ = {"resourceType": "TOPIC", "name": "a", "principal": "User:a", "operation": "READ"}
OTHERS: dict[str, tuple[dict[str, str], Options, str]] = {
    "an address": ({"listeners": "PLAINTEXT://192.0.2.1:0"}, {}, "192.0.2.1"),
    "a topic": ({}, {"topics": [{"name": "a b"}]}, "a b"),
    "a folder": ({}, {"acls": [READ]}, "data"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_nothing_wrong_shows_a_traceback(tmp_path: Path, what: str) -> None:
    """Addresses, what it begins with, and where that is to go."""
    keys, beginning, named = OTHERS[what]
    if what == "a folder":
        (tmp_path / "data").write_text("a file", encoding="utf-8")
    asked = wanted(tmp_path, **keys)._replace(beginning=configuration_of(beginning))

    told = refusal_of(asked)

    assert told.startswith("doorkeeper: ")
    assert named in told
    assert "Traceback" not in told
