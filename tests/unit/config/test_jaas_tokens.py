"""Words, quoted texts and signs of JAAS."""

from __future__ import annotations

from doorkeeper.config.jaas_tokens import JaasToken, JaasTokenizer


def read(text: str, more_in_words: str = "") -> list[JaasToken]:
    """Return all tokens of a text."""
    tokens = JaasTokenizer(text, more_in_words)
    found = []
    while (token := tokens.next()) is not None:
        found.append(token)
    return found


def test_words_texts_signs_and_numbers() -> None:
    """A number is neither word nor sign; what quoted a text is known."""
    tokens = read("""a-1 "b c" 'd' = 9.5""")

    assert [(token.text, token.sign, token.quote) for token in tokens] == [
        ("a-1", None, None),
        ("b c", None, '"'),
        ("d", None, "'"),
        (None, "=", None),
        (None, None, None),
    ]


def test_what_may_stand_in_a_word() -> None:
    """An asterisk is a sign, unless it is asked for."""
    assert [token.text for token in read("a*b")] == ["a", None, "b"]
    assert [token.text for token in read("a*b *", "*")] == ["a*b", "*"]


def test_lines() -> None:
    """The line of a token counts every kind of end, also in comments and after quotes."""
    tokens = JaasTokenizer('a\rb\r\nc /* \n */ d // e\n"f\ng')
    lines = []
    while tokens.next() is not None:
        lines.append(tokens.line)

    assert lines == [1, 2, 3, 4, 5, 6]


def test_a_token_does_not_show_its_text() -> None:
    """It may be a password."""
    assert "hush" not in repr(read('"hush"'))
