"""Which files have to be read."""

from __future__ import annotations

from typing import Any

from doorkeeper_pipeline.tables.manifest import SourceFile, Work, compare

UTC = '{"zone": "UTC"}'


def file(path: str = "/a.log", beginning: bytes = b"begin", **changed: Any) -> SourceFile:
    """Return a file as it was found."""
    fields: dict[str, Any] = {
        "source": "authorizer-log",
        "how": "",
        "size": len(beginning),
        "mtime_ns": 1,
        "inode": 1,
        **changed,
    }
    return SourceFile(path=path, beginning=beginning, **fields)


def rows_of(work: Work) -> list[dict[str, Any]]:
    """Return the rows that the manifest has after a run."""
    read = [
        {
            "file_id": file_id,
            "path": each.path,
            "source": each.source,
            "options": UTC,
            "size": each.size,
            "mtime_ns": each.mtime_ns,
            "inode": each.inode,
            "head_bytes": len(each.beginning),
            "head_sha256": each.digest(),
        }
        for file_id, each in work.read
    ]
    return [*work.unchanged, *work.gone, *read]


def after(*files: SourceFile) -> list[dict[str, Any]]:
    """Return the manifest after a first run."""
    return rows_of(compare([], files, UTC))


def test_grown_file_keeps_its_identity() -> None:
    known = after(file())

    ((file_id, _),) = compare(known, [file(beginning=b"beginning", mtime_ns=2)], UTC).read

    assert file_id == known[0]["file_id"]


def test_shorter_file_stays_as_it_was_read() -> None:
    known = after(file(size=90))
    shorter = [file(size=80, mtime_ns=2)]

    found = compare(known, shorter, UTC)

    assert (found.read, found.unchanged, found.shorter) == ((), tuple(known), 1)
    assert len(compare(known, shorter, UTC, rebuild=True).read) == 1
    assert len(compare(known, shorter, "{}").read) == 1
    assert len(compare(known, [file("/a.log.gz", how="gz", size=80)], UTC).read) == 1


def test_rotated_log_is_recognised() -> None:
    known = after(file(beginning=b"old", inode=5))
    rotated = file("/a.log.1", b"old", inode=5)
    fresh = file(beginning=b"new", inode=6, mtime_ns=9)

    work = compare(known, [fresh, rotated], UTC)

    assert [each.path for _, each in work.read] == ["/a.log"]
    assert [row["path"] for row in work.unchanged] == ["/a.log.1"]
    assert work.unchanged[0]["file_id"] == known[0]["file_id"] != work.read[0][0]


def test_rotated_log_that_grew_before() -> None:
    known = after(file(beginning=b"old", inode=5))
    rotated = file("/a.log.1", b"older", inode=5, mtime_ns=3)
    fresh = file(beginning=b"new", inode=6, mtime_ns=9)

    work = compare(known, [fresh, rotated], UTC)

    assert {each.path: file_id for file_id, each in work.read}["/a.log.1"] == known[0]["file_id"]


def test_compressed_log_replaces_the_plain_one() -> None:
    known = after(file())

    ((file_id, _),) = compare(known, [file("/a.log.gz", how="gz", size=3, inode=9)], UTC).read

    assert file_id == known[0]["file_id"]


def test_copy_is_a_second_file() -> None:
    known = after(file())

    work = compare(known, [file("/0.log", inode=2), file()], UTC)

    assert [row["path"] for row in work.unchanged] == ["/a.log"]
    assert work.read[0][0] != known[0]["file_id"]
    assert len({file_id for file_id, _ in compare([], [file(), file("/b")], UTC).read}) == 2


def test_copy_in_place_of_another_file() -> None:
    """A rebuild knows the file that goes on under its name, whatever comes before it."""
    known = after(file("/a.log", b"other"), file("/b.log", inode=2))

    work = compare(known, [file("/a.log", inode=3), file("/b.log", inode=2)], UTC, rebuild=True)

    ids = {each.path: file_id for file_id, each in work.read}
    assert ids["/b.log"] == next(row["file_id"] for row in known if row["path"] == "/b.log")
    assert ids["/a.log"] not in {row["file_id"] for row in known}


def test_changed_zone_or_rebuild_reads_again() -> None:
    known = after(file())

    for work in (
        compare(known, [file()], '{"zone": "Europe/Prague"}'),
        compare(known, [file()], UTC, rebuild=True),
        compare(known, [file(source="trail")], UTC),
    ):
        assert [file_id for file_id, _ in work.read] == [known[0]["file_id"]]
