r"""Letters, escapes and character classes of Java's patterns, translated for ``regex``.

Source: ``Pattern.clazz``, ``Pattern.range``, ``Pattern.escape`` and ``CharPredicates`` of JDK 17.
"""

from __future__ import annotations

import re
from typing import Final, NoReturn


class PatternError(ValueError):
    """A pattern that Java does not take, or that is not supported; counts characters from 1."""


class Source:
    """A pattern as it is read, character by character."""

    __slots__ = ("_at", "_text")

    def __init__(self, text: str) -> None:
        """Begin at the beginning."""
        self._text = text
        self._at = 0

    @property
    def ended(self) -> bool:
        """Say whether everything is read."""
        return self._at >= len(self._text)

    def peek(self) -> str:
        """Return the next character and stay; "" at the end."""
        return self._text[self._at : self._at + 1]

    def next(self) -> str:
        """Return the next character and go past it."""
        if self.ended:
            self.fail("the pattern ends too early")
        self._at += 1
        return self._text[self._at - 1]

    def take(self, text: str) -> bool:
        """Go past this text, if it comes next."""
        found = self._text.startswith(text, self._at)
        self._at += len(text) * found
        return found

    def followed_by(self, text: str) -> bool:
        """Say whether this text comes next."""
        return self._text.startswith(text, self._at)

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Go past what the pattern describes, if it comes next."""
        found = pattern.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
        return found

    def up_to(self, end: str) -> str:
        """Return what comes before a text, and go past it; without it, all that is left."""
        inner, _, _ = self._text[self._at :].partition(end)
        self._at += len(inner)
        self.take(end)
        return inner

    def fail(self, what: str) -> NoReturn:
        """Raise PatternError."""
        raise PatternError(f"{what}, at character {self._at + 1} of the pattern")


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
_PROPERTY = re.compile(r"[pP](?:\{(?:Is|general_category=|gc=)?([A-Za-z]+)\}|([A-Z]))")


def letter_of(character: str, *, ignore_case: bool) -> str:
    """Return what matches one character; case is that of ASCII."""
    if ignore_case and character.isascii() and character.isalpha():
        return f"[{character.lower()}{character.upper()}]"
    return _code(ord(character))


def escaped(source: Source, *, ignore_case: bool) -> str:
    """Read what follows a backslash: a set of characters, or one of them."""
    found = _set_of(source, ignore_case=ignore_case)
    if found is not None:
        return found
    return letter_of(_character_of(source), ignore_case=ignore_case)


def class_of(source: Source, *, ignore_case: bool) -> str:
    """Read a class, whose opening bracket has been read.

    Raises:
        PatternError: see JavaPattern.

    """
    negated = source.take("^")
    inner = _members(source, ignore_case=ignore_case)
    if not source.take("]"):
        source.fail("a class of characters does not end")
    return f"[^{inner}]" if negated else f"[{inner}]"


def _members(source: Source, *, ignore_case: bool) -> str:
    """Read up to the closing bracket: a union, or an intersection of two."""
    pieces: list[str] = []
    while not source.ended:
        if source.peek() == "]" and pieces:
            break
        if source.take("&&"):
            return _intersection("".join(pieces), source, ignore_case=ignore_case)
        if source.take("["):
            pieces.append(class_of(source, ignore_case=ignore_case))
        else:
            pieces.append(_range(source, ignore_case=ignore_case))
    return "".join(pieces)


def _intersection(left: str, source: Source, *, ignore_case: bool) -> str:
    if not left or source.peek() in ("", "]", "&"):
        source.fail("&& stands between two sets of characters")
    right = _members(source, ignore_case=ignore_case)
    return f"[{left}]&&[{right}]"


def _range(source: Source, *, ignore_case: bool) -> str:
    """Read a character, two with a hyphen between them, or a set by its name."""
    first = source.next()
    if first == "\\":
        found = _set_of(source, ignore_case=ignore_case)
        if found is not None:
            return found
        if source.peek() == "Q":
            source.fail(r"\Q within a class is not supported")
        first = _character_of(source)
    low = high = ord(first)
    if source.peek() == "-":
        high = _end_of_range(source, low)
    return _with_case(low, high) if ignore_case else _span(low, high)


def _end_of_range(source: Source, low: int) -> int:
    """Return the end of a range; ``low`` itself where the hyphen is one of the characters."""
    if source.followed_by("-]") or source.followed_by("-["):
        return low
    source.next()
    last = source.next()
    high = ord(_character_of(source) if last == "\\" else last)
    if high < low:
        source.fail("a range of characters is the wrong way round")
    return high


def _with_case(low: int, high: int) -> str:
    """Return a range with the other case of the ASCII letters in it."""
    pieces = [_span(low, high)]
    for first, last, distance in ((0x41, 0x5A, 32), (0x61, 0x7A, -32)):
        begin, end = max(low, first), min(high, last)
        if begin <= end:
            pieces.append(_span(begin + distance, end + distance))
    return "".join(pieces)


def _span(low: int, high: int) -> str:
    return _code(low) if low == high else f"{_code(low)}-{_code(high)}"


def _set_of(source: Source, *, ignore_case: bool) -> str | None:
    r"""Read ``\d``, ``\p{...}`` and the like; None where a single character comes."""
    letter = source.peek()
    if letter and letter.lower() in _PREDEFINED:
        source.next()
        negation = "^" if letter.isupper() else ""
        return f"[{negation}{_PREDEFINED[letter.lower()]}]"
    if letter not in ("p", "P"):
        return None
    found = source.match(_PROPERTY)
    name = (found[1] or found[2]) if found else ""
    if name not in _POSIX and not _CATEGORIES.fullmatch(name):
        source.fail("this property is not supported: use a general category, or Java's for ASCII")
    if ignore_case and name in _OF_A_CASE:
        source.fail(f"{name} under (?i) is not supported")
    negation = "^" if letter == "P" else ""
    inner = _POSIX.get(name) or f"\\p{{{name}}}"
    return f"[{negation}{inner}]"


def _character_of(source: Source) -> str:
    """Read the one character that an escape stands for."""
    for pattern, base in _CODES:
        found = source.match(pattern)
        if found is not None:
            number = int(found[1], base)
            if number > 0x10FFFF or number in _SURROGATES:
                source.fail("this is no character")
            return chr(number)
    found = source.match(_CONTROL)
    if found is not None:
        return chr(ord(found[1]) ^ 64)
    character = source.next()
    if character in _CONTROLS:
        return chr(_CONTROLS[character])
    if character.isascii() and character.isalnum():
        source.fail(f"the escape {character} is not supported")
    return character


def _code(number: int) -> str:
    """Return a character as its number, which has no other meaning anywhere in a pattern."""
    return f"\\U{number:08x}"
