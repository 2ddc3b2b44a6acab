"""Letters and classes of Java's patterns."""

from __future__ import annotations

import pytest

from doorkeeper.authn.java_regex_classes import (
    PatternError,
    PatternReader,
    parse_class,
    parse_escape,
)


@pytest.mark.parametrize(
    ("inner", "said"),
    [
        ("a", "a class of characters does not end"),
        ("]", "a class of characters does not end"),
        ("&&a]", "&& stands between two sets of characters"),
        ("a&&]", "&& stands between two sets of characters"),
        ("b-a]", "a range of characters is the wrong way round"),
        (r"\Qa\E]", r"\Q within a class is not supported"),
        (r"\p{Greek}]", "this property is not supported"),
        (r"\p{javaLowerCase}]", "this property is not supported"),
        (r"\x{110000}]", "this is no character"),
        (r"\ud800]", "this is no character"),
        (r"\y]", "the escape y is not supported"),
    ],
)
def test_classes_that_are_refused(inner: str, said: str) -> None:
    """Each refusal says what was found."""
    with pytest.raises(PatternError) as refused:
        parse_class(PatternReader(inner), ignore_case=False)

    assert said in str(refused.value)


def test_a_case_cannot_be_ignored_and_asked_for() -> None:
    """Java is of two minds about upper case letters of any case; we are not."""
    with pytest.raises(PatternError, match=r"Upper under \(\?i\) is not supported"):
        parse_escape(PatternReader(r"p{Upper}"), ignore_case=True)
