r"""Escaping of texts for PostgreSQL, which cannot store U+0000; names of clients may contain it.

U+FDD0, a Unicode noncharacter, marks a replacement:

 "a\0b"      -> "a\ufdd00b"
 "a\ufdd0b"  -> "a\ufdd0\ufdd0b"

Keys and authors are escaped. JSON texts are not: JSON escapes U+0000 by itself.
"""

from __future__ import annotations

from typing import Final

MARK: Final = "\ufdd0"


def encode(cell: str) -> str:
    if "\0" in cell or MARK in cell:
        return cell.replace(MARK, MARK + MARK).replace("\0", MARK + "0")
    return cell


def decode(cell: str) -> str:
    if MARK not in cell:
        return cell
    halves = cell.split(MARK + MARK)
    return MARK.join(half.replace(MARK + "0", "\0") for half in halves)
