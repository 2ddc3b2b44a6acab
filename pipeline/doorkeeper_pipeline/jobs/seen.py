"""What the last run saw: where all of it is as it was, a run leaves the tables alone.

The file ``manifest/seen.json`` has digests of the options and the release, of the inputs (path,
size, time and number of each file), of the ACLs, and of the versions of the tables as the run left
them. Neither Polars nor the format of tables is imported to compare them. Topics and addresses
cannot be compared so: they are known by a run.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from doorkeeper_pipeline.jobs.request import RunRequest
from doorkeeper_pipeline.sources.acl_places import digest_of
from doorkeeper_pipeline.sources.files import list_files, state_of
from doorkeeper_pipeline.tables import places

FILE = "manifest/seen.json"


class Unchanged(NamedTuple):
    """The last run, which saw what is there now: when it began (UTC), and how it ended."""

    started: str
    contradicts: bool


def look(request: RunRequest, version: str) -> str:
    """Return a digest of what a run depends on; empty where a run alone can tell.

    Raises:
        Unreadable: an input or a set of ACLs is not there.

    """
    if any(map(places.is_address, (request.out, *request.inputs))) or request.rebuild:
        return ""
    acls = digest_of(request.acls)
    if not acls:
        return ""
    states = map(state_of, list_files(request.inputs))
    return _digest((request.text(), version, acls, *states))


def unchanged(request: RunRequest, version: str) -> Unchanged | None:
    """Return the last run if nothing is new since; None where something is, or may be.

    Raises:
        Unreadable: an input or a set of ACLs is not there.

    """
    if places.is_address(request.out):
        return None
    try:
        stored = json.loads(Path(request.out, FILE).read_text(encoding="utf-8"))
        last, seen, tables = Unchanged(*stored["run"]), stored["seen"], stored["tables"]
    except (OSError, ValueError, LookupError, TypeError):
        return None  # no run, or one of another release
    if tables != _versions(request.out) or seen != look(request, version):
        return None
    return last


def keep(out: Path | str, seen: str, started: dt.datetime, *, contradicts: bool) -> None:
    """Keep what a complete run saw; empty where its tables do not depend on that alone."""
    if places.is_address(out):
        return
    path = Path(out, FILE)
    if not seen:
        path.unlink(missing_ok=True)
        return
    last = Unchanged(started.isoformat(timespec="seconds"), contradicts)
    stored = {"run": last, "seen": seen, "tables": _versions(out)}
    new = path.with_suffix(".new")
    new.write_text(json.dumps(stored), encoding="utf-8")
    new.replace(path)


def _versions(out: Path | str) -> str:
    """Return a digest of the newest version of each table."""
    newest = []
    for log in sorted(Path(out).glob("*/*/_delta_log")):
        versions = (path.name for path in log.iterdir() if path.stem.isdigit())
        newest.append((str(log.relative_to(out)), max(versions, default="")))
    return _digest(newest)


def _digest(values: Iterable[object]) -> str:
    return hashlib.sha256(json.dumps(list(values)).encode()).hexdigest()
