r"""Texts as PostgreSQL can hold them: it has no character 0, and names of clients may.

U+FDD0, a noncharacter of Unicode, stands before what it replaces:

    "a\0b"      -> "a\ufdd00b"
    "a\ufdd0b"  -> "a\ufdd0\ufdd0b"

Keys and authors are written so. JSON texts are not: JSON escapes a character 0 as six characters.
"""

from __future__ import annotations

from typing import Final

MARK: Final = "\ufdd0"


def encode(cell: str) -> str:
    """Return a text as it goes to the database."""
    if "\0" in cell or MARK in cell:
        return cell.replace(MARK, MARK + MARK).replace("\0", MARK + "0")
    return cell


def decode(cell: str) -> str:
    """Return the text of which ``encode`` made the cell."""
    if MARK not in cell:
        return cell
    halves = cell.split(MARK + MARK)
    return MARK.join(half.replace(MARK + "0", "\0") for half in halves)
