r"""Names as they are shown."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper_pipeline.report.rendering import (
    pieces,
    plain,
    warning_of,
)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("User:alice", "User:alice"),
        ("grüße-東京-\U0001f600", "grüße-東京-\U0001f600"),
        ("\u202etxt.exe", "\\u202etxt.exe"),
        ("a\u200bb\ufeff", "a\\u200bb\\ufeff"),
        ("\x00\x1b[31m\x7f", "\\x00\\x1b[31m\\x7f"),
        (" ends ", "\\x20ends\\x20"),
        ("no\u00a0break\u3000wide", "no\\xa0break\\u3000wide"),
        ("\ud800", "\\ud800"),
        ("", "(empty)"),
        ("z" + "\u0301" * 4, "z\u0301\u0301\\u0301\\u0301"),
    ],
)
def test_invisible_characters_are_escaped(name: str, shown: str) -> None:
    assert plain(name) == shown


@given(st.text())
def test_shown_names_are_visible_and_distinct(name: str) -> None:
    hidden = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}

    assert not {unicodedata.category(each) for each in plain(name)} & hidden
    back = "".join(
        piece.text.encode("ascii").decode("unicode_escape") if piece.escaped else piece.text
        for piece in pieces(name)
    )
    assert back == (name or "(empty)")


def test_mixed_alphabets_are_marked() -> None:
    assert warning_of("User:\u0430dmin") == "mixed scripts"
    assert warning_of("User:alice") == ""
    assert warning_of("грузы") == ""
    assert warning_of("東京-topic") == ""
