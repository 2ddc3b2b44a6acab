"""Reading Java's patterns."""

from __future__ import annotations

import pytest

from doorkeeper.authn.java_regex_parsing import PatternError, translate


def test_groups_keep_their_numbers() -> None:
    """What does not capture has no number; names are kept with theirs."""
    found = translate("(a)(?:b)(?<c>d)(?=e)(?>f)")

    assert (found.groups, found.names) == (2, {"c": 2})


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(a", "a group does not end, at character 3 of the pattern"),
        ("a)", "a bracket closes that none opens, at character 2 of the pattern"),
        ("*a", "* repeats nothing"),
        ("{1}", "{ repeats nothing"),
        ("a{2,1}", "the bounds of a repetition are the wrong way round"),
        ("a**", "a repetition is repeated"),
        ("a{", "{ repeats nothing"),
        (r"\1(a)", "a back reference names a group that has not ended before it"),
        (r"(a\1)", "a back reference names a group that has not ended before it"),
        (r"(?i)(a)\1", "back references under (?i) are not supported"),
        ("(?<a>b)(?<a>c)", "two groups are called a"),
        ("(?x)a", "this kind of group is not supported; flags may be i and s"),
        ("(?P<a>b)", "this kind of group is not supported; flags may be i and s"),
        ("\\", "the pattern ends too early"),
        (r"\G", "the escape G is not supported"),
    ],
)
def test_what_is_refused(pattern: str, said: str) -> None:
    """What Java refuses, or what nothing here means exactly, is refused with its place."""
    with pytest.raises(PatternError) as refused:
        translate(pattern)

    assert said in str(refused.value)
