r"""Texts as PostgreSQL can hold them: it has no character 0, and names of clients may.

U+FDD0, which Unicode gives to nobody, stands before what it takes the place of:

    "a\0b"      -> "a\ufdd00b"
    "a\ufdd0b"  -> "a\ufdd0\ufdd0b"
"""

from __future__ import annotations

from typing import Final, overload

_MARK: Final = "\ufdd0"


@overload
def written(cell: str) -> str: ...
@overload
def written(cell: int | str | None) -> int | str | None: ...
def written(cell: int | str | None) -> int | str | None:
    """Return a cell as it goes to the database; all but texts go as they are."""
    if isinstance(cell, str) and ("\0" in cell or _MARK in cell):
        return cell.replace(_MARK, _MARK + _MARK).replace("\0", _MARK + "0")
    return cell


def read(cell: str) -> str:
    """Return the text that ``written`` was given."""
    if _MARK not in cell:
        return cell
    halves = cell.split(_MARK + _MARK)
    return _MARK.join(half.replace(_MARK + "0", "\0") for half in halves)
