"""Files with passwords and tokens, which people write with any editor.

Errors never quote the text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from doorkeeper.base.encodings import not_utf8

_OF_CONTAINER: Final = "/run/secrets"
"""Where Docker and the manifests for Kubernetes put secrets."""

MODE_OF_OTHERS = 0o077


class TooLarge(ValueError):
    """A file is larger than allowed: probably another one was meant."""


def read_secrets(path: Path, bytes_max: int) -> str:
    """Return the text of a file, without the byte order mark that some editors write.

    With the mark the first name of a file would be another one, and its user refused.

    Raises:
        OSError: it cannot be read.
        TooLarge: it is larger than allowed.
        ValueError: it is not UTF-8; the text begins with the path.
    """
    try:
        return read_bytes(path, bytes_max).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: {not_utf8(error)}") from None


def read_bytes(path: Path, bytes_max: int) -> bytes:
    """Return the bytes of a file; raises as ``read_secrets``."""
    with path.open("rb") as file:
        # One byte more than allowed shows that a file is too large without reading all of it.
        data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise TooLarge(f"{path}: found more than {bytes_max} bytes")
    return data


def is_open_to_others(path: Path) -> bool:
    """Return whether other users of the system can access a file.

    Secrets that a container is given are readable by all of its users, which are the server's.
    """
    return not path.is_relative_to(_OF_CONTAINER) and bool(path.stat().st_mode & MODE_OF_OTHERS)
