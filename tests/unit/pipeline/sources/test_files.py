"""Which input files there are."""

from __future__ import annotations

import gzip
import os
from typing import TYPE_CHECKING

import pytest

from doorkeeper_pipeline.errors import Unreadable
from doorkeeper_pipeline.sources.files import identify, identify_all, list_files, state_of
from doorkeeper_pipeline.tables.manifest import SourceFile

if TYPE_CHECKING:
    from pathlib import Path

LOG = b"[2024-10-25 10:11:12,345] INFO Principal = x\n"


def names(found: list[Path], folder: Path) -> list[str]:
    """Return paths below a folder."""
    return [str(path.relative_to(folder)) for path in found]


def test_files_folders_and_patterns(tmp_path: Path) -> None:
    """Each place gives its files, each file once, unfinished and hidden ones left out."""
    for name in ("a.log", "b.log.gz", "c.jsonl.open", ".hidden", "deep/d.log", ".x/e.log"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(LOG)

    assert names(list_files([str(tmp_path)]), tmp_path) == ["a.log", "b.log.gz", "deep/d.log"]
    assert names(list_files([f"{tmp_path}/*.log", f"{tmp_path}/a.log"]), tmp_path) == ["a.log"]
    assert names(list_files([f"{tmp_path}/**/d*"]), tmp_path) == ["deep/d.log"]
    assert names(list_files([f"{tmp_path}/c.jsonl.open"]), tmp_path) == ["c.jsonl.open"]


@pytest.mark.parametrize("place", ["nothing", "*.nothing"])
def test_missing_path_is_rejected(tmp_path: Path, place: str) -> None:
    with pytest.raises(Unreadable, match="no such file"):
        list_files([str(tmp_path / place)])


def test_pipes_and_empty_names_are_rejected(tmp_path: Path) -> None:
    """A pipe has no size, and an empty name would be the current folder."""
    os.mkfifo(tmp_path / "pipe")

    for place, reason in ((str(tmp_path / "pipe"), "not a file"), ("", "an empty name")):
        with pytest.raises(Unreadable, match=reason):
            list_files([place])


def test_name_that_tables_cannot_have_is_rejected(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"a\xff.log")).write_bytes(LOG)

    with pytest.raises(Unreadable, match=r"a\\udcff.log': the name is not UTF-8"):
        list_files([str(tmp_path)])


def test_compression_keeps_the_identity(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(LOG * 200)
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(LOG * 200))

    plain, packed = (identify(tmp_path / name) for name in ("a.log", "a.log.gz"))

    assert plain is not None
    assert packed is not None
    assert (plain.how, packed.how) == ("", "gz")
    assert plain.digest() == packed.digest()
    assert plain.source == packed.source == "authorizer-log"


def test_empty_logs_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(b""))
    (tmp_path / "b.log").write_bytes(b"\r\n")

    assert identify(tmp_path / "a.log.gz") is None
    assert identify(tmp_path / "b.log", "trail") is None


def test_unreadable_folder_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shut").mkdir()
    scan = os.scandir

    def scandir(folder: str) -> object:
        if str(folder).endswith("shut"):
            raise PermissionError(13, "Permission denied", folder)
        return scan(folder)

    monkeypatch.setattr(os, "scandir", scandir)

    with pytest.raises(Unreadable, match="shut: Permission denied"):
        list_files([str(tmp_path)])


def test_links_to_one_file_count_once(tmp_path: Path) -> None:
    (tmp_path / "b.log").write_bytes(LOG)
    (tmp_path / "a.log").symlink_to("b.log")
    (tmp_path / "lost.log").symlink_to("nothing")

    found = list_files([str(tmp_path), f"{tmp_path}/../{tmp_path.name}"])

    assert [path.name for path in found] == ["b.log", "lost.log", "lost.log"]
    with pytest.raises(Unreadable, match="No such file"):
        identify(found[1])


def test_utf_16_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes("[2026".encode("utf-16"))

    with pytest.raises(Unreadable, match="found UTF-16; expected: UTF-8"):
        identify(path)


def test_one_failed_file_does_not_hide_others(tmp_path: Path) -> None:
    good, bad, empty = (tmp_path / name for name in ("good", "bad", "empty"))
    good.write_bytes(LOG)
    bad.write_text("nothing that is known\n")
    empty.touch()

    found = identify_all((None, ""), (bad, good, empty))

    failure, file, nothing = found
    assert isinstance(failure, str)
    assert failure.startswith(f"{bad}: ")
    assert isinstance(file, SourceFile)
    assert (file.path, nothing) == (str(good), None)


def test_file_state_changes(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("a")
    before = state_of(path)
    path.write_text("ab")

    assert state_of(path) != before
    path.unlink()
    assert state_of(path)[1:] == (-1, -1, -1)
