r"""``sasl.jaas.config``: login modules, each with a flag and options.

    org.apache.kafka.common.security.plain.PlainLoginModule required
        username="broker"  password="x"
        user_alice="it's \"quoted\"";

Kafka reads it with Java's ``StreamTokenizer``, and so do we, quirks included: a number without
quotes is no value, one ``/`` begins a comment, a quoted text ends at the end of its line, and
``\101`` in it is the letter A. Nothing here puts a piece of the text into an error.

Source: Kafka's ``JaasConfig``; ``java.io.StreamTokenizer``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FLAGS = ("REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL")


class JaasError(ValueError):
    """The text is no JAAS configuration; says where, counting characters from 1."""


class LoginModule(NamedTuple):
    """One module of the configuration; ``options`` holds secrets."""

    name: str
    flag: str
    options: Mapping[str, str]

    def __repr__(self) -> str:
        """Leave out what is secret."""
        return f"LoginModule({self.name}, {self.flag}, {len(self.options)} options)"


def parse(text: str) -> list[LoginModule]:
    """Return the modules, in order.

    Raises:
        JaasError: the text is not well-formed, or has no module.

    """
    tokens = _Tokens(text)
    modules: list[LoginModule] = []
    while (token := tokens.next()) is not None:
        modules.append(_module(token, tokens))
    if not modules:
        raise JaasError("no login module")
    return modules


class _Token(NamedTuple):
    """``text`` is None for numbers and for signs; ``sign`` is None for all else."""

    position: int
    text: str | None = None
    sign: str | None = None


def _module(name: _Token, tokens: _Tokens) -> LoginModule:
    if not name.text:
        raise JaasError(f"a login module's name is expected at character {name.position}")
    flag = tokens.next()
    if flag is None or flag.text is None or flag.text.upper() not in FLAGS:
        raise JaasError(f"{', '.join(FLAGS)} is expected at character {tokens.position}")
    options: dict[str, str] = {}
    while (key := tokens.next()) is not None and key.sign != ";":
        value = _value(key, tokens)
        # Kafka keeps a key that is no word under null, where nobody reads it.
        if key.text is not None:
            options[key.text] = value
    if key is None:
        raise JaasError("the last module does not end with a semicolon")
    return LoginModule(name.text, flag.text.upper(), options)


def _value(key: _Token, tokens: _Tokens) -> str:
    equals = tokens.next()
    value = tokens.next() if equals is not None and equals.sign == "=" else None
    if value is None or value.text is None:
        raise JaasError(
            f"the option at character {key.position} needs = and a value, in double quotes"
            " where it is more than a word"
        )
    return value.text


_WHITESPACE = frozenset(map(chr, range(33)))
_DIGITS = frozenset("0123456789")
_NUMERIC = _DIGITS | {".", "-"}
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_OCTAL = re.compile(r"[0-3][0-7]{0,2}|[4-7][0-7]?")


def _in_word(character: str) -> bool:
    """Say whether a word may begin with the character; digits may follow in one."""
    return (
        character in "_$-" or (character.isascii() and character.isalpha()) or character >= "\xa0"
    )


class _Tokens:
    """Walks over a text as ``StreamTokenizer`` does with Kafka's settings."""

    def __init__(self, text: str) -> None:
        # Java reads UTF-16, but no rule tells one character beyond 255 from another.
        self._text = text
        self._at = 0
        self.position = 1

    def next(self) -> _Token | None:
        """Return the next token, or None at the end."""
        self._skip()
        self.position = self._at + 1
        character = self._peek()
        if not character:
            return None
        if character in _NUMERIC:
            return self._number()
        if _in_word(character):
            return self._word()
        if character in "\"'":
            return self._quoted(character)
        self._at += 1
        return _Token(self.position, sign=character)

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

    def _number(self) -> _Token:
        """Go past a number; a minus alone is a sign."""
        if self._peek() == "-":
            self._at += 1
            following = self._peek()
            if not following or following not in _DIGITS | {"."}:
                return _Token(self.position, sign="-")
        dot_seen = False
        while character := self._peek():
            if character == "." and not dot_seen:
                dot_seen = True
            elif character not in _DIGITS:
                break
            self._at += 1
        return _Token(self.position)

    def _word(self) -> _Token:
        start = self._at
        while (character := self._peek()) and (_in_word(character) or character in _NUMERIC):
            self._at += 1
        return _Token(self.position, self._text[start : self._at])

    def _quoted(self, quote: str) -> _Token:
        self._at += 1
        text = "".join(self._quoted_characters(quote))
        if self._peek() == quote:
            self._at += 1
        return _Token(self.position, text)

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
