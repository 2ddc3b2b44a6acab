"""Sets of ACLs as the table bindings."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from doorkeeper.acls.formats import choosing
from doorkeeper.acls.formats.choosing import Format
from doorkeeper.acls.formats.names import binding_of
from doorkeeper_pipeline.errors import Unreadable
from doorkeeper_pipeline.sources import acl_sets
from doorkeeper_pipeline.sources.acl_places import dated, digest_of

if TYPE_CHECKING:
    from pathlib import Path

BINDING = binding_of(
    resource="TOPIC",
    name="orders",
    pattern="LITERAL",
    principal="User:alice",
    host="*",
    does="READ",
    permission="ALLOW",
)
OTHER = BINDING._replace(entry=BINDING.entry._replace(principal="User:bob"))


@pytest.mark.parametrize(
    ("how", "name"),
    [
        (Format.YAML, "acls.yaml"),
        (Format.CSV, "acls.csv"),
        (Format.KAFKA, "acls.txt"),
    ],
)
def test_every_format_gives_the_same_rows(tmp_path: Path, how: Format, name: str) -> None:
    """A set is the same table in whatever format it is written."""
    (tmp_path / name).write_text(choosing.write(sorted([BINDING, OTHER]), how), newline="")

    found = acl_sets.read([str(tmp_path / name)])

    assert found["principal"].to_list() == ["User:alice", "User:bob"]
    assert found["valid_from"].null_count() == 2
    assert found["binding_id"].n_unique() == 2


def test_duplicates_of_two_files_are_one_row(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.csv"):
        how = Format.YAML if name.endswith("yaml") else Format.CSV
        (tmp_path / name).write_text(choosing.write([BINDING], how), newline="")

    found = acl_sets.read([str(tmp_path / "a.yaml"), str(tmp_path / "b.csv")])

    assert len(found) == 1


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff", "byte 0 is not UTF-8"),
        ("acls: []".encode("utf-16"), "found UTF-16; expected: UTF-8 (convert it with iconv)"),
        (b"acls: [1]", "acls.yaml"),
        (None, "No such file"),
    ],
)
def test_invalid_acl_files_are_rejected(tmp_path: Path, data: bytes | None, reason: str) -> None:
    path = tmp_path / "acls.yaml"
    if data is not None:
        path.write_bytes(data)

    with pytest.raises(Unreadable, match=re.escape(reason)):
        acl_sets.read([str(path)])


def test_pipe_is_rejected(tmp_path: Path) -> None:
    """It could be read once, and its digest is made first."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    for reader in (digest_of, acl_sets.read):
        with pytest.raises(Unreadable, match="not a file"):
            reader([str(pipe)])


@pytest.mark.parametrize("date", ["0001-01-01T00:00+14:00", "9999-12-31T23:00-14:00"])
def test_date_that_is_none_in_utc_belongs_to_the_name(date: str) -> None:
    assert dated(f"acls.csv@{date}") == (f"acls.csv@{date}", None)


def test_large_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acl_sets, "FILE_BYTES_MAX", 9)
    monkeypatch.setattr(type(tmp_path), "read_text", None)
    (tmp_path / "acls.csv").write_bytes(bytes(10))

    with pytest.raises(Unreadable, match="1 GB at most"):
        acl_sets.read([str(tmp_path / "acls.csv")])
