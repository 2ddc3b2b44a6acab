r"""A parser for Java's patterns that writes patterns for the package ``regex``.

It covers everything outside of character classes: sequences, groups, repetitions, anchors, back
references. ``(?i)`` and ``(?s)`` are expanded in letters and dots, since they mean less in Java.

``\b`` is that of JDK 17, letters and digits of all scripts; combining marks do not count as
letters.
"""

from __future__ import annotations

import re
from typing import Final

from doorkeeper.server.security.java_regex_classes import (
    PatternError,
    PatternReader,
    parse_class,
    parse_escape,
)

__all__ = ["PatternError", "translate"]

# Rules in use nest two or three groups; the parser recurses once for each.
DEPTH_MAX: Final = 50
# Clients send patterns, which are read and compiled between the requests of others.
TEXT_CHARACTERS_MAX: Final = 8_192
# Of the translation, with the repetitions that ``regex`` writes out. Compiling one takes up to 5
# microseconds, so that the longest takes 0.1 s. 2,000 letters are 20,000 characters.
SIZE_MAX: Final = 20_000
_DOT: Final = r"[^\n\r\u0085\u2028\u2029]"
_DOT_ALL: Final = r"(?s:.)"
# The end, or the last line end; never between the two characters of one.
_DOLLAR: Final = r"(?:(?=\r\n\Z)|(?<!\r)(?=\n\Z)|(?=[\r\u0085\u2028\u2029]\Z)|\Z)"
_WORD: Final = r"[\p{L}\p{Nd}_]"
_ANCHORS: Final = {
    "A": r"\A",
    "Z": _DOLLAR,
    "z": r"\Z",
    "b": rf"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))",
    "B": rf"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))",
    "R": r"(?:\r\n|[\n\u000b\f\r\u0085\u2028\u2029])",
}
_LOOKS_BEHIND: Final = ("?<=", "?<!")
_LOOKS: Final = (*_LOOKS_BEHIND, "?:", "?=", "?!", "?>")
_GROUP_NAME = re.compile(r"\?<([A-Za-z][A-Za-z0-9]*)>")
_GROUP_REFERENCE = re.compile(r"k<([A-Za-z][A-Za-z0-9]*)>")
_FLAGS = re.compile(r"\?([is]*)(?:-([is]+))?([:)])")
_REPETITION = re.compile(r"\{([0-9]{1,6})(?:(,)([0-9]{1,6})?)?\}")
_DIGITS = frozenset("0123456789")


def translate(text: str) -> tuple[str, int, dict[str, int]]:
    """Return a pattern for ``regex``, the number of its groups, and the numbers of named ones.

    It is parsed and not compiled, in time that grows with its length.

    Raises:
        PatternError: Java rejects the pattern, there is no exact translation, or it is too large.
    """
    if len(text) > TEXT_CHARACTERS_MAX:
        raise PatternError(f"the pattern has {len(text)} characters; at most {TEXT_CHARACTERS_MAX}")
    parser = _PatternParser(text)
    try:
        translation = parser.alternatives(frozenset())
    except RecursionError:
        raise PatternError("the pattern is nested too deeply") from None
    if not parser.source.at_end:
        parser.source.fail("unmatched closing parenthesis")
    return translation, parser.groups, parser.names


class _PatternParser:
    """A recursive descent parser; one pass over the pattern."""

    def __init__(self, text: str) -> None:
        self.source = PatternReader(text)
        self.groups = 0
        self.names: dict[str, int] = {}
        self._closed: set[int] = set()
        self._depth = 0
        self._behind = 0
        """The number of lookbehinds around the position."""
        self._size = 0

    def alternatives(self, flags: frozenset[str]) -> str:
        """Parse up to the end of the group, or of the pattern."""
        parts: list[str] = []
        source = self.source
        while not source.at_end and source.peek() != ")":
            before = self._size
            if source.take("|"):
                parts.append("|")
                continue
            if source.take("("):
                match = source.match(_FLAGS)
                if match is None:
                    parts.append(self._repetition(self._group(flags), before))
                    continue
                changed = (flags | set(match[1])) - set(match[2] or "")
                if match[3] == ")":
                    # The flags apply up to the end of this group.
                    flags = changed
                    continue
                parts.append(self._repetition(self._inside("(?:", changed), before))
                continue
            atom = self._atom(flags)
            self._grow_to(self._size + len(atom))
            parts.append(self._repetition(atom, before))
        return "".join(parts)

    def _grow_to(self, size: int) -> None:
        """Note the size of what was read, a repetition counted as often as it repeats at least."""
        self._size = size
        if size > SIZE_MAX:
            self.source.fail("the pattern is too large, or repeats too much of it")

    def _inside(self, opening: str, flags: frozenset[str]) -> str:
        """Parse the inside of a group and its closing bracket."""
        self._depth += 1
        if self._depth > DEPTH_MAX:
            self.source.fail(f"more than {DEPTH_MAX} nested groups")
        inner = self.alternatives(flags)
        if not self.source.take(")"):
            self.source.fail("a group is not closed")
        self._depth -= 1
        return f"{opening}{inner})"

    def _group(self, flags: frozenset[str]) -> str:
        for look in _LOOKS:
            if self.source.take(look):
                is_behind = look in _LOOKS_BEHIND
                self._behind += is_behind
                inside = self._inside(f"({look}", flags)
                self._behind -= is_behind
                return inside
        named = self.source.match(_GROUP_NAME)
        if named is None and self.source.peek() == "?":
            self.source.fail("this kind of group is not supported; flags may be i and s")
        self.groups += 1
        number = self.groups
        if named is not None:
            if named[1] in self.names:
                self.source.fail(f"duplicate group name {named[1]}")
            self.names[named[1]] = number
        inner = self._inside("(", flags)
        self._closed.add(number)
        return inner

    def _repetition(self, atom: str, before: int) -> str:
        """Parse the quantifier of an atom; ``before`` is the size without the atom."""
        source = self.source
        bounds = source.match(_REPETITION)
        if bounds is not None:
            if bounds[3] is not None and int(bounds[3]) < int(bounds[1]):
                source.fail("the bounds of a quantifier are reversed")
            repetition = bounds[0]
            self._grow_to(self._size + (self._size - before) * max(0, int(bounds[1]) - 1))
        elif source.peek() in ("*", "+", "?"):
            repetition = source.next()
        else:
            return atom
        if self._behind and (repetition in ("*", "+") or repetition.endswith(",}")):
            source.fail("a lookbehind has no maximum length, which Java does not allow")
        if source.peek() in ("?", "+"):
            repetition += source.next()
        # Java rejects it as well ("Dangling meta character").
        if source.peek() in ("*", "+", "?", "{"):
            source.fail("a quantifier follows a quantifier")
        return f"(?:{atom}){repetition}"

    def _atom(self, flags: frozenset[str]) -> str:
        source = self.source
        source.ignore_case = "i" in flags
        character = source.next()
        if character == "[":
            return parse_class(source)
        if character == "\\":
            return self._escape()
        if character == ".":
            return _DOT_ALL if "s" in flags else _DOT
        if character == "^":
            return r"\A"
        if character == "$":
            return _DOLLAR
        if character in "*+?{":
            source.fail(f"{character} has nothing to repeat")
        return source.literal(character)

    def _escape(self) -> str:
        source = self.source
        character = source.peek()
        if character in _ANCHORS:
            source.next()
            return _ANCHORS[character]
        if source.take("Q"):
            letters = [source.literal(letter) for letter in source.up_to(r"\E")]
            # A repetition that follows applies to the last letter only.
            last, before = "".join(letters[-1:]) or "(?:)", self._size
            self._grow_to(before + len(last))
            return "".join(letters[:-1]) + self._repetition(last, before)
        if character in _DIGITS - {"0"} or character == "k":
            return self._back_reference()
        return parse_escape(source)

    def _back_reference(self) -> str:
        source = self.source
        if source.peek() == "k":
            named = source.match(_GROUP_REFERENCE)
            group = self.names.get(named[1], 0) if named else 0
        else:
            group = int(source.next())
            # Java takes a further digit only if so many groups have been opened by then.
            while source.peek() in _DIGITS and group * 10 + int(source.peek()) <= self.groups:
                group = group * 10 + int(source.next())
        if group not in self._closed:
            source.fail("a back reference refers to a group that is not closed yet")
        if self._behind:
            source.fail("back references in a lookbehind are not supported")
        # Java compares ASCII letters only here; ``regex`` would compare all of Unicode.
        if source.ignore_case:
            source.fail("back references under (?i) are not supported")
        return rf"(?:\{group})"
