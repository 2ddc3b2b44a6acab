"""Any texts as words of bash, so that they print safely and arrive unchanged.

Quoted plainly where everything prints; otherwise as ``$'...'`` with the bytes of UTF-8, so that no
terminal obeys a name and no locale changes it.
"""

from __future__ import annotations

import shlex

_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "'": "\\'"}


def word(text: str) -> str | None:
    """Return a text as one word; None where no argument of a program can hold it.

    That is a text with a NUL, which ends an argument, or with half a surrogate pair.
    """
    if text.isprintable():
        return shlex.quote(text)
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        return None
    return "$'" + "".join(map(_escape, text)) + "'"


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode())
