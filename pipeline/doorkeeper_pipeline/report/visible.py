r"""Names as they are shown: nothing hides in them, and nothing in them acts.

A principal may be called anything. What cannot be seen, or changes how other text is seen, is
written as an escape: controls, marks that turn the direction of writing, zero widths, odd spaces,
spaces at the ends, marks that pile up on one letter. ``User:\u202etxt.exe`` stays one that a reader
can tell from ``User:exe.txt``. Escaping for HTML is the template's work, here it is only text.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

_HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_MARKS = frozenset({"Mn", "Me"})
_MARKS_MAX = 2
"""So many accents a letter has in the languages that pile them; more is there to cover text."""

NAME_LENGTH_MAX = 120
"""Characters of a name that are shown at once; longer ones lose their middle."""

WHOLE_LENGTH_MAX = 2_000
"""Characters of a name that a pointer shows. Topics have 249, groups and principals no limit."""

_HEAD, _TAIL = 80, 24
_LETTERS = ("LATIN", "CYRILLIC", "GREEK")
_MIXED = "mixed scripts"


class Piece(NamedTuple):
    """A piece of a name: its text, and whether the text is an escape."""

    text: str
    escaped: bool


def pieces(text: str) -> list[Piece]:
    """Return a name in pieces; escapes stand for invisible characters."""
    if text.isascii() and text.isprintable() and text == text.strip(" ") and text:
        return [Piece(text, escaped=False)]
    if not text:
        return [Piece("(empty)", escaped=True)]
    found: list[Piece] = []
    begin, end = len(text) - len(text.lstrip(" ")), len(text.rstrip(" "))
    marks = 0
    for position, character in enumerate(text):
        category = unicodedata.category(character)
        marks = marks + 1 if category in _MARKS else 0
        plain = (
            category not in _HIDDEN
            and marks <= _MARKS_MAX
            and (category != "Zs" or (character == " " and begin <= position < end))
        )
        shown = character if plain else escape_of(character)
        if found and found[-1].escaped is not plain:
            found[-1] = Piece(found[-1].text + shown, escaped=not plain)
        else:
            found.append(Piece(shown, escaped=not plain))
    return found


def escape_of(character: str) -> str:
    r"""Return a character as Python and Java write it: ``\n``, ``\x20``, ``\u202e``."""
    code = ord(character)
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character)
    if named is not None:
        return named
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shorten(text: str) -> tuple[str, str, int]:
    """Return begin and end of a name, and how many characters between them are left out."""
    if len(text) <= NAME_LENGTH_MAX:
        return text, "", 0
    return text[:_HEAD], text[-_TAIL:], len(text) - _HEAD - _TAIL


def warning_of(text: str) -> str:
    """Return a warning about a name's letters; empty if there is none.

    Latin, Greek and Cyrillic share letters that look the same: a name that mixes them may
    pass for another one.
    """
    if text.isascii():
        return ""
    scripts = {unicodedata.name(each, "").partition(" ")[0] for each in set(text) if each.isalpha()}
    return _MIXED if len(scripts & set(_LETTERS)) > 1 else ""


def plain(text: str) -> str:
    """Return a name as one text, escapes included; for places that cannot show pieces."""
    return "".join(piece.text for piece in pieces(text))
