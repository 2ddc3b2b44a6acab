"""Names become cells, patterns become intervals of them."""

from itertools import product

from doorkeeper.acls.model import PatternType
from doorkeeper_pipeline.evaluation.names import NameCells

LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
LAST = "\U0010ffff"
TEXTS = ("", "a", "a\0", "ab", "abc", "b", "*", "**", "*\0", "+", ")", LAST, "a" + LAST, LAST + "a")


def covered(cells: NameCells, pattern: tuple[str, PatternType], name: str) -> bool:
    cell = cells.cell(name)
    return any(begin <= cell < end for begin, end in cells.intervals(*pattern))


def covers(pattern: tuple[str, PatternType], name: str) -> bool:
    text, pattern_type = pattern
    if pattern_type is PREFIXED:
        return name.startswith(text)
    return name == text or (text == "*" and not name.startswith("*"))


def test_intervals_match_patterns() -> None:
    patterns = list(product(TEXTS, (LITERAL, PREFIXED)))
    cells = NameCells(patterns)

    for pattern, name in product(patterns, (*TEXTS, "abcd", "zz", "a*", "*a", " ")):
        assert covered(cells, pattern, name) == covers(pattern, name), (pattern, name)


def test_prefix_before_the_surrogates() -> None:
    """A prefix ending with U+D7FF ends at a text that no file holds, and still works."""
    cells = NameCells([("\ud7ff", PREFIXED)])

    assert covered(cells, ("\ud7ff", PREFIXED), "\ud7ffx")
    assert not covered(cells, ("\ud7ff", PREFIXED), "\ue000")
