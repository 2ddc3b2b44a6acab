"""Looks for secrets where none may be, in every form in which one could be written."""

from __future__ import annotations

import base64
import json
import urllib.parse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


def forms(secret: str | bytes) -> frozenset[bytes]:
    """Return what a secret looks like: as it is, in base64, hexadecimal, and escaped."""
    raw = secret.encode() if isinstance(secret, str) else secret
    found = {raw, raw.hex().encode(), raw.hex().upper().encode(), repr(raw)[2:-1].encode()}
    found |= {base64.b64encode(raw).rstrip(b"="), base64.urlsafe_b64encode(raw).rstrip(b"=")}
    found.add(urllib.parse.quote(raw).encode())
    if isinstance(secret, str):
        found |= {repr(secret)[1:-1].encode(), json.dumps(secret)[1:-1].encode()}
        found.add(secret.encode("utf-16-le"))
    return frozenset(found)


def leaks(secrets: Iterable[str | bytes], outputs: Mapping[str, bytes]) -> list[str]:
    """Return which output holds which secret, as "output: secret"."""
    return [
        f"{name}: {secret!r}"
        for secret in secrets
        for name, output in outputs.items()
        if any(form in output for form in forms(secret))
    ]


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the bytes of each file below a folder."""
    return {
        f"{folder.name}/{path.relative_to(folder)}": path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
