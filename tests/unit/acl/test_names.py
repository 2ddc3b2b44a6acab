"""The index from patterns to values."""

from __future__ import annotations

import pytest

from doorkeeper.acl.names import Names, empty_names, names_of, wildcard_covers
from testkit.acl import LITERAL, PREFIXED


def prefixed(*names: str) -> Names[int]:
    index: Names[int] = empty_names()
    for place, name in enumerate(names):
        index = index.with_value(name, PREFIXED, place)
    return index


def test_prefixes_are_found_by_the_lengths_that_occur() -> None:
    """The shortest first; a longer one than the name is not looked for."""
    index = prefixed("orders-", "a", "ab", "b")

    assert index.lengths == (1, 2, 7)
    assert list(index.prefixes_of("abc")) == [("a", 1), ("ab", 2)]
    assert list(index.prefixes_of("a")) == [("a", 1)]
    assert list(index.prefixes_of("")) == []


def test_a_length_goes_with_its_last_prefix() -> None:
    """And a prefix that is set again is not counted twice."""
    index = prefixed("ab", "ab", "cd")

    index = index.without("ab", PREFIXED)
    assert index.lengths == (2,)
    index = index.without("cd", PREFIXED)
    assert index == empty_names()
    assert not index


def test_literal_and_prefixed_of_one_name_are_apart() -> None:
    """Each has its own value."""
    index: Names[int] = names_of({"a": 1}, {"a": 2})

    assert index.get("a", LITERAL) == 1
    assert index.get("a", PREFIXED) == 2
    assert set(index.patterns()) == {("a", LITERAL, 1), ("a", PREFIXED, 2)}
    assert index.without("a", LITERAL).get("a", PREFIXED) == 2


@pytest.mark.parametrize(
    ("name", "covered"), [("a", True), ("", True), ("*", True), ("*a", False), ("**", False)]
)
def test_the_wildcard_skips_longer_names_with_an_asterisk_first(
    name: str, *, covered: bool
) -> None:
    """As a broker of 4.3.1 does; found by asking one."""
    assert wildcard_covers(name) is covered
