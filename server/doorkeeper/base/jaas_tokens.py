r"""Tokenizer of both JAAS parsers, equal to Java's ``StreamTokenizer``.

Its quirks are kept: a number is not a word, a single ``/`` starts a comment, a quoted text ends at
the end of its line, and ``\101`` in it is the letter A.

Source: ``java.io.StreamTokenizer`` (17).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct


class JaasToken(Struct, frozen=True):
    """A token. ``text`` is None for numbers and signs; ``sign`` is None except for signs.

    ``quote`` is the quotation mark of a quoted text, None for a word. ``position`` starts at 1. The
    text may be a secret.
    """

    position: int
    text: str | None = None
    sign: str | None = None
    quote: str | None = None

    def __repr__(self) -> str:
        return f"Token({self.position})"


# StreamTokenizer's default tables: all characters up to the space are white space, and all from
# U+00A0 are letters.
_WHITESPACE = frozenset(map(chr, range(33)))
_DIGITS = frozenset("0123456789")
_NUMERIC = _DIGITS | {".", "-"}
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_OCTAL = re.compile(r"[0-3][0-7]{0,2}|[4-7][0-7]?")


class JaasTokenizer:
    """Iterates over a text. Words may contain ``_``, ``-``, ``$`` and ``more_in_words``."""

    def __init__(self, text: str, more_in_words: str = "") -> None:
        # Java reads UTF-16, but its rules treat all characters beyond 255 alike.
        self._text = text
        self._more_in_words = more_in_words
        self._at = 0
        self.position = 1

    @property
    def line(self) -> int:
        r"""Return the line of the last token, from 1; lines end with ``\n``, ``\r\n`` or ``\r``."""
        before = self._text[: self.position - 1]
        return 1 + before.count("\n") + before.count("\r") - before.count("\r\n")

    def next(self) -> JaasToken | None:
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
            return self._quotation(character)
        self._at += 1
        return JaasToken(self.position, sign=character)

    def _in_word(self, character: str) -> bool:
        """Return whether a word may start with the character; digits may follow in it."""
        return (
            character in "_$-"
            or character in self._more_in_words
            or (character.isascii() and character.isalpha())
            or character >= "\xa0"
        )

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip(self) -> None:
        """Skip white space and comments."""
        while character := self._peek():
            if character in _WHITESPACE:
                self._at += 1
            elif character == "/":
                self._skip_comment()
            else:
                return

    def _skip_comment(self) -> None:
        following = self._text[self._at + 1 : self._at + 2]
        # A single slash starts a comment too; the character after it is skipped unseen.
        self._at += 2
        if following == "*":
            end = self._text.find("*/", self._at)
            self._at = len(self._text) if end < 0 else end + 2
            return
        while (character := self._peek()) and character not in "\r\n":
            self._at += 1

    def _number(self) -> JaasToken:
        """Skip a number; a minus alone is a sign."""
        if self._peek() == "-":
            self._at += 1
            following = self._peek()
            if not following or following not in _DIGITS | {"."}:
                return JaasToken(self.position, sign="-")
        # StreamTokenizer accepts one dot in a number; a second one starts the next token.
        dot_seen = False
        while character := self._peek():
            if character == "." and not dot_seen:
                dot_seen = True
            elif character not in _DIGITS:
                break
            self._at += 1
        return JaasToken(self.position)

    def _word(self) -> JaasToken:
        start = self._at
        while (character := self._peek()) and (self._in_word(character) or character in _NUMERIC):
            self._at += 1
        return JaasToken(self.position, self._text[start : self._at])

    def _quotation(self, quote: str) -> JaasToken:
        self._at += 1
        text = "".join(self._quoted_characters(quote))
        if self._peek() == quote:
            self._at += 1
        return JaasToken(self.position, text, quote=quote)

    def _quoted_characters(self, quote: str) -> Iterator[str]:
        while (character := self._peek()) and character not in (quote, "\n", "\r"):
            self._at += 1
            if character == "\\":
                yield self._escape()
            else:
                yield character

    def _escape(self) -> str:
        octal = _OCTAL.match(self._text, self._at)
        if octal is not None:
            self._at = octal.end()
            return chr(int(octal.group(), 8))
        character = self._peek()
        self._at += 1
        # At the end of the text Java appends its marker for "no character".

        return _ESCAPES.get(character, character or "\uffff")
