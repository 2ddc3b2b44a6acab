"""The files that a listener's keys name, and handing secrets to OpenSSL.

OpenSSL's loading of keys takes names of files only. A key is written to memory that has a name
and no place on a disk, and that is gone when it is closed.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.tls.settings import TlsSettings

KEY_STORE: Final = "ssl.keystore.location"
TRUST_STORE: Final = "ssl.truststore.location"
REVOKED: Final = "doorkeeper.ssl.crl.file"
FILES: Final = (KEY_STORE, TRUST_STORE, REVOKED)
"""The keys that name files."""

FILE_BYTES_MAX: Final = 64 * 1024 * 1024
"""A store of all public authorities has 200 kB, a revocation list of a large one some MB."""


def files_of(settings: TlsSettings) -> dict[str, bytes]:
    """Return what the files hold, by key; of those that are named.

    Raises:
        TlsError: a file cannot be read.

    """
    return {key: _read(settings, key) for key in FILES if settings.text(key) is not None}


def _read(settings: TlsSettings, key: str) -> bytes:
    path = Path(settings.text(key) or "")
    try:
        size = path.stat().st_size
        if size > FILE_BYTES_MAX:
            raise settings.problem(key, f"{path}: found {size} bytes; at most {FILE_BYTES_MAX}")
        data = path.read_bytes()
    except OSError as error:
        raise settings.problem(key, f"{path}: {error.strerror or error}") from None
    if not data:
        raise settings.problem(key, f"{path}: the file is empty")
    return data


@contextmanager
def named_in_memory(data: bytes) -> Iterator[str]:
    """Give the data a name, for as long as it is needed."""
    if not hasattr(os, "memfd_create"):
        with _named_pipe_end(data) as name:
            yield name
        return
    descriptor = os.memfd_create("doorkeeper", os.MFD_CLOEXEC)
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(data)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


@contextmanager
def _named_pipe_end(data: bytes) -> Iterator[str]:
    """Give the data a name where memory has none: it can be read once."""
    reading, writing = os.pipe()
    writer = threading.Thread(target=_fill, args=(writing, data), name="doorkeeper-tls-pipe")
    writer.start()
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)
        writer.join()


def _fill(descriptor: int, data: bytes) -> None:
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except BrokenPipeError:
        # The reader has seen enough, or failed.
        return
