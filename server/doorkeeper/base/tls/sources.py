"""Reads the files that a listener's keys name, and passes secrets to OpenSSL in memory.

OpenSSL loads keys from file names only. A key is written to a pipe, which never reaches a disk and
disappears when it is closed.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.base.key import Key
from doorkeeper.base.tls.keys import SSL_CRL_FILE, SSL_KEYSTORE_LOCATION, SSL_TRUSTSTORE_LOCATION
from doorkeeper.base.tls.settings import TlsSettings

FILES: Final = (SSL_KEYSTORE_LOCATION, SSL_TRUSTSTORE_LOCATION, SSL_CRL_FILE)
# A store of all public CAs has 200 kB, a revocation list of a large CA some MB.
FILE_BYTES_MAX: Final = 64 * 1024 * 1024


def files_of(settings: TlsSettings) -> dict[Key[object], bytes]:
    """Return the contents of the named files, by key."""
    return {key: _read(settings, key) for key in FILES if settings[key] is not None}


def _read(settings: TlsSettings, key: Key[object]) -> bytes:
    path = Path(str(settings[key]))
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
def memory_file(data: bytes) -> Iterator[str]:
    """Provide the data under a file name for the duration of the block; it can be read once."""
    reading, writing = os.pipe()
    # A thread, because a pipe holds less than a long chain and the reader comes later.
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
        # The reader stopped early, or failed.
        return
