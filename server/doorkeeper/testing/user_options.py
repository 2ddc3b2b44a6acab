"""Converts the option ``users`` to passwords by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path


def users_of(given: object) -> dict[str, str]:
    """Return passwords by name.

    Raises:
        ValueError: a name or password is not a text; a line of a file is not ``name=password``, or
            repeats a name.
        OSError: the file cannot be read.
    """
    if isinstance(given, (str, Path)):
        path = Path(given)
        return _of_lines(path.read_text(encoding="utf-8").splitlines(), path.name)
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        text = f"users: found a {kind}; allowed: passwords by name, or a file"
        raise ValueError(text)
    for name, password in given.items():
        if not isinstance(name, str) or not isinstance(password, str):
            # Without the value: it may be a password without quotes.
            text = f"users: {name!r}: expected are texts, a name and a password"
            raise ValueError(text)
    return dict(given)


def _of_lines(lines: Iterable[str], name: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        user, sign, password = (part.strip() for part in line.partition("="))
        if not sign:
            # Without the line: it may be a password.
            raise ValueError(f"users: {name} line {number}: expected is name=password")
        if user in found:
            raise ValueError(f"users: {name} line {number}: {user!r} was there before")
        found[user] = password
    return found
