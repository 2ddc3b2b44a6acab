r"""Letters, escapes and character classes of Java's patterns, translated for ``regex``.

Source: ``Pattern.clazz``, ``Pattern.range``, ``Pattern.escape`` and ``CharPredicates`` of JDK 17.
"""

from __future__ import annotations

import re
from typing import Final, NoReturn


class PatternError(ValueError):
    """A pattern that Java rejects, or that is not supported. Positions count from 1."""


class PatternReader:
    """A pattern and a read position."""

    __slots__ = ("_at", "_text", "ignore_case")

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.ignore_case = False
        """Whether ``(?i)`` is in effect for what is read."""

    @property
    def at_end(self) -> bool:
        return self._at >= len(self._text)

    def peek(self) -> str:
        """Return the next character without consuming it; "" at the end."""
        return self._text[self._at : self._at + 1]

    def next(self) -> str:
        if self.at_end:
            self.fail("the pattern ends too early")
        self._at += 1
        return self._text[self._at - 1]

    def take(self, text: str) -> bool:
        """Consume this text if it comes next; return whether it did."""
        is_next = self._text.startswith(text, self._at)
        self._at += len(text) * is_next
        return is_next

    def starts_with(self, text: str) -> bool:
        return self._text.startswith(text, self._at)

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Consume a match of the pattern if it comes next."""
        match = pattern.match(self._text, self._at)
        if match is not None:
            self._at = match.end()
        return match

    def up_to(self, end: str) -> str:
        """Return the text before ``end``, or the rest without it, and consume ``end`` too."""
        inner, _, _ = self._text[self._at :].partition(end)
        self._at += len(inner)
        self.take(end)
        return inner

    def literal(self, character: str) -> str:
        """Return a pattern for one character; as in Java, only ASCII letters have case."""
        if self.ignore_case and character.isascii() and character.isalpha():
            return f"[{character.lower()}{character.upper()}]"
        return _code(ord(character))

    def fail(self, problem: str) -> NoReturn:
        raise PatternError(f"{problem}, at character {self._at + 1} of the pattern")


_CONTROLS: Final = {"t": 9, "n": 10, "r": 13, "f": 12, "a": 7, "e": 27}
_CODES: Final = (
    (re.compile(r"0([0-3][0-7]{2}|[0-7]{1,2})"), 8),
    (re.compile(r"x([0-9A-Fa-f]{2})"), 16),
    (re.compile(r"x\{([0-9A-Fa-f]{1,6})\}"), 16),
    (re.compile(r"u([0-9A-Fa-f]{4})"), 16),
)
_CONTROL = re.compile(r"c([\x00-\x7f])", re.DOTALL)
_SURROGATES: Final = range(0xD800, 0xE000)

# What stands between the brackets of a class.
_PREDEFINED: Final = {
    "d": "0-9",
    "w": "A-Za-z0-9_",
    "s": r"\ \t\n\u000b\f\r",
    "h": r"\ \t\u00a0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000",
    "v": r"\n\u000b\f\r\u0085\u2028\u2029",
}
_PUNCTUATION: Final = r"\u0021-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007e"
_POSIX: Final = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\u0000-\u007f",
    "Alpha": "A-Za-z",
    "Digit": "0-9",
    "Alnum": "A-Za-z0-9",
    "Punct": _PUNCTUATION,
    "Graph": f"A-Za-z0-9{_PUNCTUATION}",
    "Print": rf"A-Za-z0-9\ {_PUNCTUATION}",
    "Blank": r"\ \t",
    "Cntrl": r"\u0000-\u001f\u007f",
    "XDigit": "0-9A-Fa-f",
    "Space": r"\ \t\n\u000b\f\r",
}
_CATEGORIES: Final = re.compile(
    "[LMNPSZC]|L[ultmo]|M[nec]|N[dlo]|Z[slp]|C[cfos]|P[dsecoif]|S[mcko]", re.ASCII
)
_OF_A_CASE: Final = frozenset({"Lower", "Upper", "Lu", "Ll", "Lt"})
_PROPERTY = re.compile(r"[pP](?:\{(Is|general_category=|gc=)?([A-Za-z]+)\}|([A-Z]))")


def parse_escape(source: PatternReader) -> str:
    """Parse an escape after its backslash: a set of characters, or one character."""
    return _set_of(source) or source.literal(_character_of(source))


def parse_class(source: PatternReader) -> str:
    """Parse a class after its opening bracket."""
    negated = source.take("^")
    inner = _members(source)
    if not source.take("]"):
        source.fail("a character class is not closed")
    return f"[^{inner}]" if negated else f"[{inner}]"


def _members(source: PatternReader) -> str:
    """Parse up to the closing bracket: a union, or an intersection of two."""
    parts: list[str] = []
    while not source.at_end:
        # A "]" directly after the opening bracket is a literal, as in Java.
        if source.peek() == "]" and parts:
            break
        if source.take("&&"):
            if not parts or source.peek() in ("", "]", "&"):
                source.fail("&& requires a set of characters on both sides")
            return f"[{''.join(parts)}]&&[{_members(source)}]"
        if source.take("["):
            parts.append(parse_class(source))
        else:
            parts.append(_range(source))
    return "".join(parts)


def _range(source: PatternReader) -> str:
    """Parse a character, a range, or a named set."""
    first = source.next()
    if first == "\\":
        characters = _set_of(source)
        if characters is not None:
            return characters
        if source.peek() == "Q":
            source.fail(r"\Q within a class is not supported")
        first = _character_of(source)
    low = high = ord(first)
    if source.peek() == "-":
        high = _end_of_range(source, low)
    return _with_case(low, high) if source.ignore_case else _span(low, high)


def _end_of_range(source: PatternReader, low: int) -> int:
    """Return the end of a range; ``low`` itself if the hyphen is a literal."""
    if source.starts_with("-]") or source.starts_with("-["):
        return low
    source.next()
    last = source.next()
    high = ord(_character_of(source) if last == "\\" else last)
    if high < low:
        source.fail("a character range is reversed")
    return high


def _with_case(low: int, high: int) -> str:
    """Return a range together with the other case of its ASCII letters."""
    parts = [_span(low, high)]
    for first, last, distance in ((0x41, 0x5A, 32), (0x61, 0x7A, -32)):
        begin, end = max(low, first), min(high, last)
        if begin <= end:
            parts.append(_span(begin + distance, end + distance))
    return "".join(parts)


def _span(low: int, high: int) -> str:
    return _code(low) if low == high else f"{_code(low)}-{_code(high)}"


def _set_of(source: PatternReader) -> str | None:
    r"""Parse ``\d``, ``\p{...}`` and the like; None for an escape of a single character."""
    letter = source.peek()
    if letter and letter.lower() in _PREDEFINED:
        source.next()
        negation = "^" if letter.isupper() else ""
        return f"[{negation}{_PREDEFINED[letter.lower()]}]"
    if letter not in ("p", "P"):
        return None
    match = source.match(_PROPERTY)
    prefix, name = (match[1] or "", match[2] or match[3]) if match else ("", "")
    # \p{Alpha} is ASCII's, \p{IsAlpha} that of all scripts.
    posix = None if prefix == "Is" else _POSIX.get(name)
    if posix is None and not _CATEGORIES.fullmatch(name):
        source.fail(
            f"\\{letter}{{{prefix}{name}}} is not supported; allowed: a Unicode general category"
            r" such as \p{Lu}, or a POSIX class such as \p{Alpha}"
        )
    # Java widens these under (?i), which the translation does not imitate.
    if source.ignore_case and name in _OF_A_CASE:
        source.fail(f"{name} under (?i) is not supported")
    negation = "^" if letter == "P" else ""
    inner = posix or f"\\p{{{name}}}"
    return f"[{negation}{inner}]"


def _character_of(source: PatternReader) -> str:
    """Parse the escape of a single character."""
    for pattern, base in _CODES:
        match = source.match(pattern)
        if match is not None:
            number = int(match[1], base)
            if number > 0x10FFFF or number in _SURROGATES:
                source.fail("this is not a character")
            return chr(number)
    match = source.match(_CONTROL)
    if match is not None:
        # As in Java: the control character is the given one XOR 64, without a check for a letter.
        return chr(ord(match[1]) ^ 64)
    character = source.next()
    if character in _CONTROLS:
        return chr(_CONTROLS[character])
    if character.isascii() and character.isalnum():
        source.fail(f"the escape {character} is not supported")
    return character


def _code(number: int) -> str:
    """Return a character as its number, which has no other meaning anywhere in a pattern."""
    return f"\\U{number:08x}"
