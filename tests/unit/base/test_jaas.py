"""JAAS entries, read as Java's StreamTokenizer reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.base.jaas import JaasError, JaasTokenizer, parse


def options_of(text: str) -> dict[str, str]:
    return dict(parse(f"m required {text};")[0].options)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('k="a b"', "a b"),
        ('k="a\\"b"', 'a"b'),
        ('k="\\101\\60\\7"', "A0\x07"),
        ('k="\\477"', "'7"),
        ("k=word", "word"),
        ("k=a.b-c_d$9", "a.b-c_d$9"),
        ('k /* x */ = // y\n "v"', "v"),
        ('k = / a lone slash\n "v"', "v"),
        ('k="a // b"', "a // b"),
        ('k="first" k="last"', "last"),
    ],
)
def test_jaas_values_match_java(text: str, value: str) -> None:
    """Quotes, escapes, words and comments mean what they mean to Java."""
    assert options_of(text) == {"k": value}


@pytest.mark.parametrize("number", ["9092", "-1", ".5", "9a", "-"])
def test_unquoted_number_is_rejected(number: str) -> None:
    with pytest.raises(JaasError, match="requires = and a value"):
        parse(f"m required k={number};")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no login module"),
        ("/* only a comment */", "no login module"),
        ("m", "expected REQUIRED, REQUISITE, SUFFICIENT, OPTIONAL at character 2"),
        ("m maybe;", "SUFFICIENT, OPTIONAL at character 3"),
        ("= required;", "expected the class of a login module at character 1"),
        ("m required", "expected a semicolon at the end"),
        (
            "m required k;",
            "the option at character 12 requires = and a value; quote values that are not",
        ),
        ('m required user_a="s3cret\n";', "the option at character 27 requires"),
    ],
)
def test_invalid_jaas_is_rejected_with_position(text: str, said: str) -> None:
    with pytest.raises(JaasError, match=said) as caught:
        parse(text)

    assert "s3cret" not in str(caught.value)


def test_repr_hides_option_values() -> None:
    assert "s3cret" not in repr(parse('m required user_a="s3cret";'))
    assert "s3cret" not in repr(JaasTokenizer('"s3cret"').next())


@given(st.text(st.sampled_from("ab =;\"'\\/*\n9-._$#\x7f\x80\xa0\u4e2d")))
def test_any_text_is_parsed_or_rejected(text: str) -> None:
    try:
        found = parse(text)
    except JaasError:
        return
    assert found
