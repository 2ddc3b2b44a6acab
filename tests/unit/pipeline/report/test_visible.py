r"""Names as they are shown."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper_pipeline.report.visible import (
    NAME_LENGTH_MAX,
    escape_of,
    pieces,
    plain,
    shorten,
    warning_of,
)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("User:alice", "User:alice"),
        ("a b", "a b"),
        ("grüße-東京-\U0001f600", "grüße-東京-\U0001f600"),
        ("\u202etxt.exe", "\\u202etxt.exe"),
        ("a\u200bb\ufeff", "a\\u200bb\\ufeff"),
        ("line\nfeed\r\t", "line\\nfeed\\r\\t"),
        ("\x00\x1b[31m\x7f", "\\x00\\x1b[31m\\x7f"),
        (" ends ", "\\x20ends\\x20"),
        ("   ", "\\x20\\x20\\x20"),
        ("no\u00a0break\u3000wide", "no\\xa0break\\u3000wide"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("", "(empty)"),
        ("e\u0301", "e\u0301"),
        ("z" + "\u0301" * 4, "z\u0301\u0301\\u0301\\u0301"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
    ],
)
def test_what_cannot_be_seen_is_written_out(name: str, shown: str) -> None:
    """Controls, marks of direction, zero widths and odd spaces become escapes; letters stay."""
    assert plain(name) == shown


def test_escapes_are_apart_from_text() -> None:
    """A name that holds the text of an escape is not taken for one."""
    assert pieces("a\u202e\u202cb") == [("a", False), ("\\u202e\\u202c", True), ("b", False)]
    assert pieces("a\\u202e") == [("a\\u202e", False)]


@given(st.text())
def test_nothing_invisible_is_left(name: str) -> None:
    """Whatever a name holds, what is shown can be seen, and different names look different."""
    hidden = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}

    assert not {unicodedata.category(each) for each in plain(name)} & hidden
    back = "".join(
        piece.text.encode("ascii").decode("unicode_escape") if piece.escaped else piece.text
        for piece in pieces(name)
    )
    assert back == (name or "(empty)")


def test_long_names_lose_their_middle() -> None:
    """Begin, end and the number of characters between them; a name that fits stays whole."""
    name = "".join(chr(97 + number % 26) for number in range(1_000))

    begin, end, left_out = shorten(name)

    assert name.startswith(begin)
    assert name.endswith(end)
    assert len(begin) + left_out + len(end) == 1_000
    assert shorten("x" * NAME_LENGTH_MAX) == ("x" * NAME_LENGTH_MAX, "", 0)


def test_letters_that_look_alike_are_told() -> None:
    """A name of Latin and Cyrillic letters may pass for another; one alphabet is fine."""
    assert warning_of("User:\u0430dmin") == "mixed scripts"
    assert warning_of("User:alice") == ""
    assert warning_of("грузы") == ""
    assert warning_of("東京-topic") == ""


def test_escapes_are_those_of_java_and_python() -> None:
    """Two digits below 256, four in the basic plane, eight above."""
    assert [escape_of(each) for each in "\n\x07\u200b\U000e0001"] == [
        *("\\n", "\\x07", "\\u200b", "\\U000e0001"),
    ]
