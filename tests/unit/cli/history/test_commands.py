"""``doorkeeper history``, and questions about the past."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import apsw
import pytest
from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import Author, edit
from doorkeeper.server.schema.declared import ACL, TOPIC
from doorkeeper.server.state.storage.backup import backup
from doorkeeper.server.state.storage.files import DATABASE_NAME
from doorkeeper.server.state.store import LogEntry
from testkit.acl import READ, allow
from testkit.acl import topic as topic_pattern
from testkit.stores import NOW_MS, open_store, topic, write_entries

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

    Run = Callable[..., Result]

STANDARD = (
    "--override",
    "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
)
ALICE = Author("User:admin", "10.0.0.7", "PLAINTEXT", "c", "java/4.3.1", 17)
FIRST = allow("alice", READ, topic_pattern("orders"))
SECOND = allow("bob", READ, topic_pattern("orders"))


CHANGES = (
    edit(ACL, set=[StoredBinding("1", FIRST)]),
    edit(ACL, set=[StoredBinding("2", SECOND)]),
    edit(TOPIC, set=[topic("t")]),
    edit(ACL, deleted=[StoredBinding("1", FIRST)]),
)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    open_store(folder).close()
    connection = apsw.Connection(str(folder / DATABASE_NAME))
    for revision, change in enumerate(CHANGES, 1):
        write_entries(connection, [LogEntry(revision, ALICE, change)], NOW_MS + revision * 1000)
    connection.close()
    return folder


@pytest.fixture
def run(data_dir: Path) -> Run:
    def run_words(*words: str) -> Result:
        return CliRunner().invoke(doorkeeper, [*words], catch_exceptions=False)

    assert data_dir.is_dir()
    return run_words


def test_list_has_one_line_per_change(run: Run, data_dir: Path) -> None:
    lines = run("history", "list", f"store:{data_dir}").output.splitlines()

    assert len(lines) == 4
    assert lines[0] == (
        "4  2026-10-14T17:46:44.000Z  User:admin 10.0.0.7 java/4.3.1 #17"
        "  - ALLOW User:alice READ TOPIC orders (LITERAL)"
    )
    assert [line.split()[0] for line in lines] == ["4", "3", "2", "1"]


def test_filters_and_pages(run: Run, data_dir: Path) -> None:
    """By kind, principal and time; --limit says where the next page begins."""
    store = (f"store:{data_dir}",)

    def numbers(*words: str) -> list[int]:
        page = json.loads(run("history", "list", *store, "--output", "json", *words).stdout)
        return [each["revision"] for each in page["revisions"]]

    assert numbers("--kind", "topic") == [3]
    assert numbers("--principal", "User:alice") == [4, 1]
    assert numbers("--resource", "t") == [3]
    assert numbers("--since", "2026-10-14T17:46:43Z") == [4, 3]
    assert numbers("--since", "2") == [4, 3]
    assert numbers("--until", "2") == [2, 1]
    assert numbers("--author", "User:bob") == []
    assert numbers("--limit", "3") == [4, 3, 2]
    assert numbers("--limit", "3", "--until", "1") == [1]


def test_show_one_revision(run: Run, data_dir: Path) -> None:
    shown = run("history", "show", f"store:{data_dir}", "3")
    assert "software: java/4.3.1" in shown.output
    assert "+ topic t" in shown.output

    unnumbered = run("history", "show", f"store:{data_dir}", f"{1 << 63}")
    assert unnumbered.exit_code == 2

    missing = run("history", "show", f"store:{data_dir}", "9")
    assert missing.exit_code == 1
    assert "revision 9 is not in the log" in missing.output


def test_verify_detects_damage(run: Run, data_dir: Path) -> None:
    """The output has the newest hash, to be recorded; damage is status 1."""
    sound = run("history", "verify", f"store:{data_dir}")
    recorded = sound.output.splitlines()[-1].removeprefix("recorded: ")
    assert sound.exit_code == 0
    again = ("history", "verify", f"store:{data_dir}", "--recorded", recorded)
    assert run(*again).exit_code == 0

    connection = apsw.Connection(str(data_dir / DATABASE_NAME))
    connection.execute("UPDATE change_log SET author_host = 'x' WHERE revision = 2")
    connection.close()

    damaged = run(*again)
    assert damaged.exit_code == 1
    assert "revision 2 was modified" in damaged.output
    assert run("history", "verify", f"store:{data_dir}", "--recorded", "1:x").exit_code == 2


def test_verify_uses_recorded_hashes(run: Run, data_dir: Path, tmp_path: Path) -> None:
    words = ("history", "verify", f"store:{data_dir}")
    recorded = run(*words).output.splitlines()[-1].removeprefix("recorded: ")
    log, empty = tmp_path / "server.log", tmp_path / "empty.log"
    log.write_text(f'{{"event": "history", "recorded": "{recorded}"}}\n')
    empty.write_text("nothing\n")
    connection = apsw.Connection(str(data_dir / DATABASE_NAME))
    connection.execute("DELETE FROM change_log")
    for revision, change in enumerate(CHANGES, 1):
        write_entries(connection, [LogEntry(revision, ALICE, change)], NOW_MS)
    connection.close()

    sound, rewritten = run(*words), run(*words, "--recorded-in", str(log))

    assert (sound.exit_code, rewritten.exit_code) == (0, 1)
    assert "revision 4 does not match its recorded hash" in rewritten.stderr
    assert run(*words, "--recorded-in", str(empty)).exit_code == 2


def test_questions_about_the_past(run: Run, data_dir: Path, tmp_path: Path) -> None:
    """Of a store and of a backup; each answer names its revision."""
    backup(data_dir, tmp_path / "acls.backup")
    for place in ((f"store:{data_dir}", *STANDARD), (f"backup:{tmp_path / 'acls.backup'}",)):
        at = (*place, "--at", "1")
        who = ("acls", "who-can", *place, "--operation", "Read", "--topic", "orders")
        question = ("--principal", "User:alice", "--operation", "Read", "--topic", "orders")

        assert "User:bob" not in run("acls", "list", *at).output
        assert "User:alice" in run("acls", "export", *place, "--at", "2026-10-14T17:46:43Z").output
        assert json.loads(run(*who, "--at", "3", "--output", "json").output)["revision"] == 3
        assert "User:alice" not in run(*who).output.splitlines()[0]
        what = run("acls", "what-can", *at, "--principal", "User:alice").output
        assert "as of revision 1" in what
        assert "ALLOWED" in run("acls", "explain", *at, *question).output
        assert run("acls", "lint", *at).exit_code in (0, 1)


def test_diff_of_two_moments(run: Run, data_dir: Path) -> None:
    store = f"store:{data_dir}"
    found = run("acls", "diff", store, "--left-at", "1", "--right-at", "2", *STANDARD)
    assert found.exit_code == 3
    assert found.stdout.splitlines() == [
        "+ User:bob,TOPIC,LITERAL,orders,READ,ALLOW,*",
        (
            f"Difference: 1 only in revision 2 of {store} (+), 0 only in revision 1 of {store} (-);"
            " 1 in both."
        ),
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("who-can", "--operation", "Read", "--topic", "t", "--at", "2199-01-01"),
        ("diff", "--left-at", "2199-01-01"),
    ],
)
def test_future_is_rejected(run: Run, data_dir: Path, words: tuple[str, ...]) -> None:
    command, *options = words
    found = run("acls", command, f"store:{data_dir}", *options, *STANDARD)

    assert found.exit_code == 2
    said = " ".join(found.output.split())
    assert "in the future; allowed: times up to now, 20" in said


def test_principal_requires_a_type(run: Run, data_dir: Path) -> None:
    for command in (("history", "list"), ("watch",)):
        found = run(*command, f"store:{data_dir}", "--principal", "carl")
        assert found.exit_code == 2
        assert "carl" in found.output


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("kafka://localhost:1", "address of the server's store (the server may be running)"),
        ("acls.csv", "a file has no history"),
    ],
)
def test_other_addresses_have_no_history(run: Run, place: str, why: str) -> None:
    """The error says why, and which ones have one."""
    found = run("acls", "list", place, "--at", "1")

    assert found.exit_code == 1
    assert why in found.output
    assert "; --at requires config:FILE" in found.output


def test_watch_prints_changes(run: Run, data_dir: Path) -> None:
    store = (f"store:{data_dir}",)

    lines = run("watch", *store, "--since", "1", "--limit", "3").output.splitlines()
    assert [line.split()[0] for line in lines] == ["2", "3", "4"]
    words = ("--since", "0", "--principal", "User:alice", "--output", "json", "--limit", "2")
    found = [
        json.loads(line)["revision"]
        for line in run("watch", *store, *words).stdout.split("\n")
        if line
    ]
    assert found == [1, 4]
    assert "revision 9 does not exist yet" in run("watch", *store, "--since", "8").output
