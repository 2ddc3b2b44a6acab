"""ACLs that came and went by the audit log."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from doorkeeper_pipeline.errors import Unreadable
from doorkeeper_pipeline.sources import acl_sets

if TYPE_CHECKING:
    from pathlib import Path

LISTED = """\
KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host
User:a,TOPIC,LITERAL,new,READ,ALLOW,*
User:a,TOPIC,LITERAL,always,READ,ALLOW,*
"""


def acl(name: str, **changed: str) -> dict[str, str]:
    """Return an ACL as an event has it."""
    return {
        "id": name,
        "resource_type": "TOPIC",
        "pattern_type": "LITERAL",
        "resource_name": name,
        "principal": "User:a",
        "host": "*",
        "operation": "READ",
        "permission": "ALLOW",
        **changed,
    }


def event(seq: int, **fields: Any) -> str:
    """Return a change at as many seconds as its number."""
    whole = {"kind": "change", "seq": seq, "node": 1, "ts_ns": seq * 10**9, "subject": "acls"}
    return json.dumps({**whole, "revision": seq, "principal": "User:admin", **fields}) + "\n"


def log(folder: Path, *lines: str) -> Path:
    """Write an audit log of one file."""
    audit = folder / "audit"
    audit.mkdir()
    (audit / "audit-1-1-9.jsonl").write_text("".join(lines))
    return audit


def test_changes_have_times_and_authors(tmp_path: Path) -> None:
    """An ACL that is only removed was always there; the present set has those without changes."""
    audit = log(
        tmp_path,
        event(1, added=[acl("new"), acl("short")]),
        json.dumps({"kind": "decision", "principal": "change"}) + "\n",
        event(2, removed=[acl("short"), acl("old")]),
        event(3, subject="users", added=None),
    )
    (audit / "copy.jsonl").write_text(event(1, added=[acl("new"), acl("short")]))
    (tmp_path / "acls.csv").write_text(LISTED)

    found = acl_sets.read([str(tmp_path / "acls.csv"), str(audit)])

    first, second = (dt.datetime(1970, 1, 1, 0, 0, second, tzinfo=dt.UTC) for second in (1, 2))
    names = ("resource_name", "valid_from", "valid_to", "created_by", "removed_by", "to_revision")
    assert sorted(found.select(names).rows(), key=str) == [
        ("always", None, None, None, None, None),
        ("new", first, None, "User:admin", None, None),
        ("old", None, second, None, "User:admin", 2),
        ("short", first, second, "User:admin", "User:admin", 2),
    ]


def test_revisions_order_changes_of_several_nodes(tmp_path: Path) -> None:
    """The clock of the node that removed the ACL is behind that of the one that added it."""
    added = event(1, added=[acl("short")], revision=7, ts_ns=50 * 10**9)
    removed = event(1, removed=[acl("short")], revision=8, ts_ns=49 * 10**9, node=2)
    last = event(2, added=[acl("new")], revision=9, ts_ns=60 * 10**9)
    audit = log(tmp_path, added, removed, last)

    found = acl_sets.read([str(audit)]).filter(pl.col("valid_to").is_null())

    assert found["resource_name"].to_list() == ["new"]


def test_listing_lacks_what_was_removed_since(tmp_path: Path) -> None:
    """A copy of the folder may lack the file that the server writes at present."""
    audit = log(tmp_path, event(1, added=[acl("gone"), acl("new")]), event(5, removed=[acl("old")]))
    (tmp_path / "acls.csv").write_text(LISTED)

    found = acl_sets.read([str(tmp_path / "acls.csv"), str(audit)])

    in_force = found.filter(pl.col("valid_to").is_null())
    assert sorted(in_force["resource_name"]) == ["always", "new"]
    assert found.filter(resource_name="gone")["valid_to"].to_list() == [
        dt.datetime(1970, 1, 1, 0, 0, 5, tzinfo=dt.UTC)
    ]


def test_file_that_is_being_written_is_read(tmp_path: Path) -> None:
    """Up to its last whole line; the folder of a new server has no other."""
    audit = log(tmp_path, event(1, added=[acl("gone"), acl("new")]))
    current = audit / "audit-1-000000000002.jsonl.open"
    current.write_text(event(2, removed=[acl("gone")]) + event(3, removed=[acl("new")])[:-9])

    found = acl_sets.read([str(audit)]).filter(pl.col("valid_to").is_null())
    assert found["resource_name"].to_list() == ["new"]

    (audit / "audit-1-1-9.jsonl").unlink()
    assert acl_sets.read([str(audit)])["resource_name"].to_list() == ["gone"]


def test_revisions_of_a_new_store_begin_anew(tmp_path: Path) -> None:
    audit = log(
        tmp_path,
        event(500, added=[acl("old")], revision=7),
        event(600, removed=[acl("old")], revision=8),
        event(9000, added=[acl("old")], revision=2),
    )

    found = acl_sets.read([str(audit)]).filter(pl.col("valid_to").is_null())

    assert found["from_revision"].to_list() == [2]


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ((), "found neither a Doorkeeper store nor an audit log in this folder"),
        (("hello\n",), "cannot recognise the kind of log from the first 64 kB"),
        (('{"class_uid": 6003}\n',), "found Redpanda's audit log; a folder of ACLs has a store"),
        ((event(1, added=[acl("x", operation="FLY")]),), "event 1 of node 1"),
        (('{"kind": "change", "seq": "x"}\n',), "after byte 0"),
    ],
)
def test_invalid_audit_folders_are_rejected(
    tmp_path: Path, lines: tuple[str, ...], text: str
) -> None:
    audit = log(tmp_path, *lines)
    if not lines:
        (audit / "audit-1-1-9.jsonl").unlink()

    with pytest.raises(Unreadable, match=text):
        acl_sets.read([str(audit)])
