"""The input files, and the identity of each.

A file is the same if its beginning is, under any name: logs are rotated by renaming and
compressed later, and a log that is being written grows. So the digest of its first bytes, not
compressed, is what the manifest knows it by, beside path, size, time and number.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from doorkeeper.base.encodings import is_unicode
from doorkeeper_pipeline.errors import Unreadable
from doorkeeper_pipeline.sources import reading
from doorkeeper_pipeline.sources.recognising import (
    HEAD_BYTES,
    SOURCES,
    describe_unknown,
    foreign_decisions,
    form_of,
)
from doorkeeper_pipeline.tables.manifest import SourceFile

IDENTITY_BYTES = 4096
"""How much of a file's beginning tells it from others: some twenty lines of a log."""

UNFINISHED = (".open", ".tmp", ".part", ".swp", ".lock", ".reserve")
"""Ends of names of files that are still being written, and of a server's own files."""


def list_files(places: Iterable[str]) -> list[Path]:
    """Return the files of places: files, folders with all below them, and patterns with ``*``.

    Hidden files and those that are still being written are left out, but for one that is named. A
    file that is found under several names, by links or by places that lie within each other, is
    there once.

    Raises:
        Unreadable: a place is not there, nothing fits a pattern, or a folder cannot be listed; or a
            name is not UTF-8, which the tables could not have.

    """
    paths: dict[Path, None] = {}
    for name in places:
        path = Path(name)
        if not name:
            raise Unreadable("found an empty name; expected: a file, a folder, or a pattern")
        if path.is_dir():
            paths.update(dict.fromkeys(_below(path)))
        elif path.is_file():
            paths[path.absolute()] = None
        elif path.exists():
            raise Unreadable(f"{path}: not a file; write the lines to one (a pipe is read once)")
        else:
            fitting = sorted(glob.glob(name, recursive=True))  # noqa: PTH207  absolute ones too
            if not fitting:
                raise Unreadable(
                    f"{name}: no such file or folder, and no file matches it as a pattern"
                )
            for matched in map(Path, fitting):
                new = _below(matched) if matched.is_dir() else [matched.absolute()]
                paths.update(dict.fromkeys(file for file in new if _is_finished(file.name)))
    for path in paths:
        if not is_unicode(str(path)):
            raise Unreadable(f"{str(path)!a}: the name is not UTF-8; rename the file")
    return _each_once(paths)


def _each_once(paths: Iterable[Path]) -> list[Path]:
    """Leave out further names of a file; a link gives way to its target."""
    ordered = list(paths)
    first: dict[tuple[int, int] | Path, Path] = {}
    for path in sorted(ordered, key=Path.is_symlink):
        try:
            stat = path.stat()
        except OSError:
            first[path] = path  # whoever opens it says why it cannot be
        else:
            first.setdefault((stat.st_dev, stat.st_ino), path)
    unique = set(first.values())
    return [path for path in ordered if path in unique]


Identified = SourceFile | str | None
"""A file with its identity, or why it has none, or nothing for an empty one."""


def identify_all(how: tuple[str | None, str], paths: tuple[Path, ...]) -> list[Identified]:
    """Return files with their identities, by source and layout: the function of the tasks."""
    return [identified(path, *how) for path in paths]


def identified(path: Path, source: str | None, pattern: str) -> Identified:
    """Return the same as ``identify``, or why it cannot."""
    try:
        return identify(path, source, pattern)
    except Unreadable as error:
        return str(error)


def state_of(path: Path) -> tuple[str, int, int, int]:
    """Return path, size, time and number of a file, which tell that it is as it was."""
    try:
        stat = path.stat()
    except OSError:
        return str(path), -1, -1, -1
    return str(path), stat.st_size, stat.st_mtime_ns, stat.st_ino


def identify(path: Path, source: str | None = None, pattern: str = "") -> SourceFile | None:
    """Return a file with its identity; None for one that is empty, or has blanks only.

    ``pattern`` is a layout of log4j, for logs that are not recognised without.

    Raises:
        Unreadable: it cannot be read, or its source is neither recognised nor given.

    """
    try:
        stat = path.stat()
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from error
    if stat.st_size == 0:
        return None
    how = reading.compression(path)
    beginning = reading.head(path, how, HEAD_BYTES)
    if len(beginning) < HEAD_BYTES and not beginning.strip():
        return None  # as a log is that was rotated, and compressed, before anything was written
    if beginning.startswith(reading.UTF_16):
        raise Unreadable(f"{path}: found UTF-16; expected: UTF-8 (convert it with iconv)")
    if foreign := foreign_decisions(beginning):
        raise Unreadable(f"{path}: {foreign}")
    form = None if source else form_of(beginning, pattern)
    if form is None and source is None:
        raise Unreadable(
            f"{path}: cannot recognise the kind of log from the first {HEAD_BYTES // 1024} kB"
            f" ({describe_unknown(beginning)}). Exclude the file from --log, or give its kind:"
            f" --source {'|'.join(SOURCES)}, or --pattern with the log4j layout"
        )
    return SourceFile(
        path=str(path.absolute()),
        source=source or (form.source if form else ""),
        how=how,
        size=stat.st_size,
        mtime_ns=stat.st_mtime_ns,
        inode=stat.st_ino,
        beginning=beginning[:IDENTITY_BYTES],
    )


def _below(folder: Path) -> Sequence[Path]:
    def refuse(error: OSError) -> None:
        raise Unreadable(f"{error.filename}: {error.strerror}") from error

    paths = []
    for parent, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths += [Path(parent, name).absolute() for name in sorted(names) if _is_finished(name)]
    return paths


def _is_finished(name: str) -> bool:
    return not name.startswith(".") and not name.endswith(UNFINISHED)
