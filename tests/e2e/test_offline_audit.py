"""What commands change while the server is stopped stands in its audit log, between its own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from doorkeeper.server.authorizer.standard_keys import POLICY_DEFAULTS
from doorkeeper.server.operations.audit.events import Event
from doorkeeper_pipeline.sources import json_lines, trail
from doorkeeper_pipeline.sources.parsed import sum_parts
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from testkit.e2e import command
from testkit.serving import Serving, creation
from testkit.trails import lines_in

if TYPE_CHECKING:
    from pathlib import Path

PROPERTIES = """\
listeners=PLAINTEXT://localhost:0
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
doorkeeper.data.dir=data
doorkeeper.audit.dir=audit
"""
CONFIG = ("--config", "server.properties")
STORE = "config:server.properties"
ADD = ("acls", "add", "--operation", "Read", "--topic", "orders", "--allow-principal")


def live(folder: Path, principal: str) -> None:
    """Start the server, have it add an ACL, and stop it."""
    with Serving(folder, *CONFIG) as server:
        with server.connect() as conversation:
            answer = conversation.call(creation(principal), CreateAclsResponse, 3)
            assert answer.results[0].error_code == 0
        assert server.stop() == 0


def changes(folder: Path) -> list[dict[str, Any]]:
    """Return the changes of the audit log."""
    return [event for event in lines_in(folder / "audit") if event["kind"] == "change"]


def told(event: dict[str, Any]) -> tuple[int, str, str, list[str]]:
    """Return a change as revision, author, subject and what was changed."""
    what = [
        *(f"+{each['principal']}" for each in event["added"]),
        *(f"-{each['principal']}" for each in event["removed"]),
        *(f"{each['action']} {each['name']}" for each in event["items"]),
    ]
    return event["revision"], event["principal"], event["subject"], what


def test_audit_log_of_server_and_offline_commands(tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text(f"{PROPERTIES}doorkeeper.audit.sync=strict\n")
    (tmp_path / "wanted.csv").write_text(
        "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host\n"
        "User:imported,TOPIC,LITERAL,orders,READ,ALLOW,*\n"
    )
    remove = ("acls", "remove", "--force", "--topic", "orders", "--operation", "Read")
    secret = ("--mechanism", "SCRAM-SHA-256", "--password-file", "-")

    assert command(tmp_path, *ADD, "User:first", STORE)[0] == 0
    live(tmp_path, "User:live-1")
    for words, typed in (
        ((*ADD, "User:offline", STORE), ""),
        ((*remove, "--allow-principal", "User:live-1", STORE), ""),
        (("acls", "import", "wanted.csv", STORE), ""),
        (("users", "add", STORE, "alice", *secret), "alice-secret\n"),
        (("users", "set-password", STORE, "alice", *secret), "other-secret\n"),
        (("users", "remove", STORE, "alice"), ""),
    ):
        status, _, said = command(tmp_path, *words, typed=typed)
        assert status == 0, (words, said)
    checked = command(tmp_path, "audit", "verify", "audit")
    live(tmp_path, "User:live-2")

    assert checked[0] == 0, checked
    assert command(tmp_path, "audit", "verify", "audit")[0] == 0
    assert [told(event) for event in changes(tmp_path)] == [
        (1, "Server:doorkeeper", "acls", ["+User:first"]),
        # The store was made by a command: the server adds its own settings.
        (2, "Server:doorkeeper", "settings", [f"set {name}" for name in POLICY_DEFAULTS]),
        (3, "User:ANONYMOUS", "acls", ["+User:live-1"]),
        (4, "Server:doorkeeper", "acls", ["+User:offline"]),
        (5, "Server:doorkeeper", "acls", ["-User:live-1"]),
        (6, "Server:doorkeeper", "acls", ["+User:imported"]),
        (7, "Server:doorkeeper", "users", ["set alice"]),
        (8, "Server:doorkeeper", "users", ["set alice"]),
        (9, "Server:doorkeeper", "users", ["deleted alice"]),
        (10, "User:ANONYMOUS", "acls", ["+User:live-2"]),
    ]
    kinds = [event["kind"] for event in lines_in(tmp_path / "audit")]
    assert (kinds.count("start"), kinds.count("stop")) == (2, 2)
    assert "-secret" not in json.dumps(lines_in(tmp_path / "audit"))
    for event in lines_in(tmp_path / "audit"):
        msgspec.convert(event, Event)
    read = [
        sum_parts(json_lines.parse_parts(file, "zst", trail.SOURCE, trail.line))
        for file in (tmp_path / "audit").glob("*.zst")
    ]
    assert sum(each.lines for each in read) == len(kinds)
    assert [len(each.quarantine) for each in read] == [0] * len(read)


def test_unwritable_audit_log_rejects_offline_changes(tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text(PROPERTIES)
    assert command(tmp_path, *ADD, "User:a", STORE)[0] == 0
    (tmp_path / "audit").rename(tmp_path / "elsewhere")
    (tmp_path / "audit").touch()
    line = "doorkeeper: doorkeeper.audit.dir: audit: the audit log cannot be written: File exists\n"

    added = command(tmp_path, *ADD, "User:b", STORE)
    removed = command(tmp_path, "acls", "remove", "--force", "--topic", "orders", STORE)
    made = command(tmp_path, "users", "add", STORE, "al", "--password-file", "-", typed="x\n")
    found = command(tmp_path, "acls", "list", STORE)
    users = command(tmp_path, "users", "list", STORE)

    assert [each[::2] for each in (added, removed, made)] == [(1, line)] * 3
    assert (found[0], found[1].count("principal=User:a"), found[2]) == (0, 1, "")
    assert "User:b" not in found[1]
    assert users == (0, "", "")
