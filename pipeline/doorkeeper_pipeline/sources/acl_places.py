"""Places of sets of ACLs: their dates, and whether they changed, without reading them.

A listing such as ``acls.txt@2026-10-01`` was made on that day, or at that time (UTC).
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Sequence
from pathlib import Path

from doorkeeper_pipeline.errors import Unreadable


def dated(listing: str) -> tuple[str, dt.datetime | None]:
    """Return the path of a listing, and its date; None where it has none."""
    path, _, text = listing.rpartition("@")
    if not path or Path(listing).exists():
        return listing, None
    try:
        return path, utc_time(text)
    except (ValueError, OverflowError):
        return listing, None


def utc_time(text: str) -> dt.datetime:
    """Return a day or a time in UTC, which is that of a text without a zone.

    Raises:
        ValueError, OverflowError: it is neither.

    """
    time = dt.datetime.fromisoformat(text)
    return time.astimezone(dt.UTC) if time.tzinfo else time.replace(tzinfo=dt.UTC)


def times_of(places: Sequence[str], now: dt.datetime) -> list[dt.datetime]:
    """Return the times of sets at places: the dates of listings, and now."""
    return sorted({dated(listing)[1] or now for listing in places})


def digest_of(places: Sequence[str]) -> str:
    """Return a digest of sets at places and of their dates; empty where none can be made.

    A folder has none, nor has a store: its newest rows may be in files beside it.

    Raises:
        Unreadable: a file cannot be read.

    """
    whole = hashlib.sha256()
    for listing in places:
        name, at = dated(listing)
        path = Path(name)
        if path.is_dir() or is_store(path):
            return ""
        try:
            with path.open("rb") as file:
                whole.update(hashlib.file_digest(file, hashlib.sha256).digest())
        except OSError as error:
            raise Unreadable(f"{path}: {error.strerror}") from error
        whole.update(b"" if at is None else at.isoformat().encode())
    return whole.hexdigest()


def is_store(path: Path) -> bool:
    """Say whether a file is an SQLite database.

    Raises:
        Unreadable: the file cannot be read, or not twice.

    """
    try:
        if path.exists() and not path.is_file():
            raise Unreadable(f"{path}: not a file; write the listing to one (a pipe is read once)")
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from error
