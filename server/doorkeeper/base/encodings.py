"""What is not UTF-8: bytes, and texts with half of a surrogate pair."""

from __future__ import annotations

from typing import Final

_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
"""The marks in front of UTF-16, as PowerShell writes a redirected output."""


def is_unicode(text: str) -> bool:
    """Return whether a text has no lone surrogates.

    JSON and plug-ins can express them, and names of files and arguments may be any bytes.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def not_utf8(error: UnicodeDecodeError) -> str:
    """Return why bytes are no text: the encoding that they have, or the first faulty byte."""
    if error.object.startswith(_UTF_16):
        return "found UTF-16; expected: UTF-8 (convert it with iconv)"
    return f"byte {error.start} is not UTF-8"
