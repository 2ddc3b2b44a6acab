"""Sets of ACLs in every form that ``doorkeeper.acls.formats`` reads, and the store's change log.

A file has the ACLs in force, not the times of their creation: its bindings have no times. From run
to run they get some, see ``jobs.succession``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from doorkeeper.acls.formats import choosing
from doorkeeper.acls.formats.choosing import Format
from doorkeeper.acls.formats.names import FormatError
from doorkeeper.acls.model import AclBinding
from doorkeeper.base.encodings import not_utf8
from doorkeeper_pipeline.bindings import FIELDS, row_of
from doorkeeper_pipeline.errors import Unreadable
from doorkeeper_pipeline.sources import audit_changes, change_log
from doorkeeper_pipeline.sources.acl_places import is_store
from doorkeeper_pipeline.tables import contents

FILE_BYTES_MAX = 1 << 30
"""A set of a million bindings has some 200 MB; a larger file is a log that was named by mistake."""


def read_bindings(path: Path) -> list[AclBinding]:
    """Return the bindings of a file in any format.

    Raises:
        Unreadable: it cannot be read, or is no set of ACLs; says where.

    """
    return _read_file(path)[1]


def _read_file(path: Path) -> tuple[Format, list[AclBinding]]:
    """Return the format of a file, too."""
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise Unreadable(f"{path}: {path.stat().st_size} bytes; a set of ACLs has 1 GB at most")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Unreadable(f"{path}: {not_utf8(error)}") from error
    try:
        how = choosing.format_of(text, path.name)
        return how, choosing.read(text, how, name=path.name)
    except FormatError as error:
        raise Unreadable(f"{path}: {error}") from error


def table_of(bindings: Iterable[AclBinding], source: str) -> pl.DataFrame:
    """Return bindings as rows of the table, each once, in order; their times are not known."""
    rows = [{**row_of(binding), "source": source} for binding in sorted(set(bindings))]
    return pl.DataFrame(rows, schema=contents.schema_of("bindings"), orient="row")


def read(places: Sequence[str]) -> pl.DataFrame:
    """Return the table bindings of files and stores; a binding of several is one row.

    Raises:
        Unreadable: one of them cannot be read.

    """
    frames = [_one(Path(path)) for path in places]
    rows = pl.concat([contents.empty("bindings"), *frames])
    # What a change log says of times counts more than a listing of the same moment.
    return (
        rows.pipe(_ended_by_listing)
        .sort("valid_from", nulls_last=True, maintain_order=True)
        .unique(["binding_id", "valid_from"], keep="first", maintain_order=True)
        .pipe(_without_timeless)
        .sort(*FIELDS, "valid_from", "binding_id")
    )


def _one(path: Path) -> pl.DataFrame:
    if has_changes_only(path):
        return audit_changes.read(path)
    if path.is_dir():
        path = path / change_log.STORE_NAME
    if is_store(path):
        return change_log.read(path)
    how, bindings = _read_file(path)
    return table_of(bindings, how.value)


def has_changes_only(path: Path) -> bool:
    """Return whether a place is an audit log, which lacks the ACLs that never changed."""
    return path.is_dir() and not (path / change_log.STORE_NAME).exists()


def _ended_by_listing(rows: pl.DataFrame) -> pl.DataFrame:
    """End bindings of an audit log that a listing beside it lacks, with the log's last change.

    A copy of the folder may lack the file that the server writes at present, which may have their
    removals.
    """
    is_audited = pl.col("source") == audit_changes.SOURCE
    listed = rows.filter(~pl.col("source").is_in([audit_changes.SOURCE, change_log.SOURCE]))
    if listed.is_empty():
        return rows
    last = pl.max_horizontal("valid_from", "valid_to").filter(is_audited).max()
    ids = listed["binding_id"].implode()
    ends = is_audited & pl.col("valid_to").is_null() & ~pl.col("binding_id").is_in(ids)
    return rows.with_columns(valid_to=pl.when(ends).then(last).otherwise("valid_to"))


def _without_timeless(rows: pl.DataFrame) -> pl.DataFrame:
    """Leave out rows without times of bindings that a row with times has in force."""
    timed = rows.filter(pl.col("valid_from").is_not_null() & pl.col("valid_to").is_null())
    timeless = rows.filter(pl.col("valid_from").is_null()).join(
        timed.select(FIELDS), on=list(FIELDS), how="anti"
    )
    return pl.concat([rows.filter(pl.col("valid_from").is_not_null()), timeless])
