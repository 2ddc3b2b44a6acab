"""The form between two stores."""

from __future__ import annotations

from doorkeeper.storage.portable import COLUMNS, LOG, ONLY_SHARED, Header
from doorkeeper.storage.rows import log_rows
from testkit.stores import adding


def test_rows_of_the_log_are_those_of_the_embedded_store() -> None:
    """The log's columns are what the embedded store writes, and two that only others have."""
    (row,) = log_rows(adding(1), 7, 1000)

    assert len(row) == len(COLUMNS[LOG]) - ONLY_SHARED
    named = dict(zip(COLUMNS[LOG], row, strict=False))
    assert (named["revision"], named["kind"], named["time_ms"]) == (7, 1, 1000)
    assert COLUMNS[LOG][-ONLY_SHARED:] == ("node_id", "batch")


def test_a_header_says_whether_anything_was_changed() -> None:
    """A store without revisions and rows is empty; one that was emptied is not."""
    assert Header("A" * 22, b"", 0, {"bindings": 0}).empty
    assert not Header("A" * 22, b"", 3, {"bindings": 0}).empty
    assert not Header("A" * 22, b"", 0, {"bindings": 1}).empty


def test_a_header_does_not_show_its_secret() -> None:
    """The salt key is left out where a header is printed."""
    assert "sssecret" not in repr(Header("A" * 22, b"sssecret", 0, {}))
