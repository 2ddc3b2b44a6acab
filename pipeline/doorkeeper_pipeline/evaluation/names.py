r"""Resource names as numbers, so that every pattern becomes an interval.

All texts at which a pattern begins or ends are sorted; between two of them lies a cell. Names of
one cell are covered by the same patterns, so that a name is needed once, to find its cell.

    literal "ab"    from "ab" to "ab\0", the next text there is: this name alone
    prefixed "ab"   from "ab" to "ac": every text that begins with it
    literal "*"     all but the names that begin with an asterisk, and "*" itself: three intervals

Worked example: the literal "ab" and the prefix "a" give the boundaries "a", "ab", "ab\0" and "b",
after the four that are always there: "", "*", "*\0", "+". The literal is the interval [5, 6), the
prefix [4, 7), and the name "abc" lies in cell 6.

Texts are compared by code point, as Python does. Any order would do in which the names of a prefix
stand together.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from doorkeeper.acls.model import WILDCARD, PatternType

Interval = tuple[int, int]
"""A cell, and the one after the last."""

_LAST = chr(0x10FFFF)
_NEXT_OF_WILDCARD = chr(ord(WILDCARD) + 1)


class NameCells:
    """The boundaries of a set of patterns, in order."""

    __slots__ = ("_boundaries",)

    def __init__(self, patterns: Iterable[tuple[str, PatternType]]) -> None:
        """Take the patterns whose intervals will be asked for."""
        texts = {"", WILDCARD, WILDCARD + "\0", _NEXT_OF_WILDCARD}
        for name, pattern_type in patterns:
            texts.add(name)
            after = _after(name, pattern_type)
            if after is not None:
                texts.add(after)
        self._boundaries = sorted(texts)

    def __len__(self) -> int:
        return len(self._boundaries)

    def cell(self, name: str) -> int:
        """Return the cell of a name: of a boundary, the one that it begins."""
        return bisect_right(self._boundaries, name) - 1

    def intervals(self, name: str, pattern_type: PatternType) -> tuple[Interval, ...]:
        """Return the intervals that a pattern covers.

        The interval of the name alone comes first where the pattern is the literal ``*``: there the
        broker reads it as the literal of that name.
        """
        if name == WILDCARD and pattern_type is PatternType.LITERAL:
            after_own = self.cell(WILDCARD + "\0")
            return (
                (self.cell(WILDCARD), after_own),
                (0, self.cell(WILDCARD)),
                (self.cell(_NEXT_OF_WILDCARD), len(self._boundaries)),
            )
        after = _after(name, pattern_type)
        return ((self.cell(name), len(self._boundaries) if after is None else self.cell(after)),)


def _after(name: str, pattern_type: PatternType) -> str | None:
    """Return the first text after all that the pattern covers; None where there is none."""
    if pattern_type is PatternType.LITERAL:
        return name + "\0"
    stem = name.rstrip(_LAST)
    return stem[:-1] + chr(ord(stem[-1]) + 1) if stem else None
