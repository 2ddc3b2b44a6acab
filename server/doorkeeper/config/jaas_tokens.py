r"""Words, quoted texts and signs, as Java's ``StreamTokenizer`` gives them to both JAAS parsers.

Its quirks are kept: a number is no word, one ``/`` begins a comment, a quoted text ends at the end
of its line, and ``\101`` in it is the letter A.

Source: ``java.io.StreamTokenizer`` (17).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class Token(NamedTuple):
    """``text`` is None for numbers and for signs; ``sign`` is None for all else.

    ``quote`` is what a quoted text began with, None for a word. ``position`` counts characters
    from 1. The text may be a secret.
    """

    position: int
    text: str | None = None
    sign: str | None = None
    quote: str | None = None

    def __repr__(self) -> str:
        """Leave out what is secret."""
        return f"Token({self.position})"


_WHITESPACE = frozenset(map(chr, range(33)))
_DIGITS = frozenset("0123456789")
_NUMERIC = _DIGITS | {".", "-"}
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_OCTAL = re.compile(r"[0-3][0-7]{0,2}|[4-7][0-7]?")


class Tokens:
    """Walks over a text. ``_``, ``-`` and ``$`` may stand in words, and ``more_in_words``."""

    def __init__(self, text: str, more_in_words: str = "") -> None:
        # Java reads UTF-16, but no rule tells one character beyond 255 from another.
        self._text = text
        self._more_in_words = more_in_words
        self._at = 0
        self.position = 1

    @property
    def line(self) -> int:
        r"""Return the line of the last token, from 1: each ends with ``\n``, ``\r\n`` or ``\r``."""
        before = self._text[: self.position - 1]
        return 1 + before.count("\n") + before.count("\r") - before.count("\r\n")

    def next(self) -> Token | None:
        """Return the next token, or None at the end."""
        self._skip()
        self.position = self._at + 1
        character = self._peek()
        if not character:
            return None
        if character in _NUMERIC:
            return self._number()
        if self._in_word(character):
            return self._word()
        if character in "\"'":
            return self._quoted(character)
        self._at += 1
        return Token(self.position, sign=character)

    def _in_word(self, character: str) -> bool:
        """Say whether a word may begin with the character; digits may follow in one."""
        return (
            character in "_$-"
            or character in self._more_in_words
            or (character.isascii() and character.isalpha())
            or character >= "\xa0"
        )

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip(self) -> None:
        """Go past white space and comments."""
        while character := self._peek():
            if character in _WHITESPACE:
                self._at += 1
            elif character == "/":
                self._skip_comment()
            else:
                return

    def _skip_comment(self) -> None:
        following = self._text[self._at + 1 : self._at + 2]
        # Also a lone slash begins a comment; the character after it is skipped unseen.
        self._at += 2
        if following == "*":
            end = self._text.find("*/", self._at)
            self._at = len(self._text) if end < 0 else end + 2
            return
        while (character := self._peek()) and character not in "\r\n":
            self._at += 1

    def _number(self) -> Token:
        """Go past a number; a minus alone is a sign."""
        if self._peek() == "-":
            self._at += 1
            following = self._peek()
            if not following or following not in _DIGITS | {"."}:
                return Token(self.position, sign="-")
        dot_seen = False
        while character := self._peek():
            if character == "." and not dot_seen:
                dot_seen = True
            elif character not in _DIGITS:
                break
            self._at += 1
        return Token(self.position)

    def _word(self) -> Token:
        start = self._at
        while (character := self._peek()) and (self._in_word(character) or character in _NUMERIC):
            self._at += 1
        return Token(self.position, self._text[start : self._at])

    def _quoted(self, quote: str) -> Token:
        self._at += 1
        text = "".join(self._quoted_characters(quote))
        if self._peek() == quote:
            self._at += 1
        return Token(self.position, text, quote=quote)

    def _quoted_characters(self, quote: str) -> Iterator[str]:
        while (character := self._peek()) and character not in (quote, "\n", "\r"):
            self._at += 1
            if character == "\\":
                yield self._escaped()
            else:
                yield character

    def _escaped(self) -> str:
        octal = _OCTAL.match(self._text, self._at)
        if octal is not None:
            self._at = octal.end()
            return chr(int(octal.group(), 8))
        character = self._peek()
        self._at += 1
        # At the very end Java appends its mark for "no character".
        return _ESCAPES.get(character, character or "\uffff")
