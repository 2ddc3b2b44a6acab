r"""Names as they are shown."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper_pipeline.report.visible import (
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
def test_what_cannot_be_seen_is_written_out(name: str, shown: str) -> None:
    """Controls, marks of direction, zero widths and odd spaces become escapes; letters stay."""
    assert plain(name) == shown


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


def test_letters_that_look_alike_are_told() -> None:
    """A name of Latin and Cyrillic letters may pass for another; one alphabet is fine."""
    assert warning_of("User:\u0430dmin") == "mixed scripts"
    assert warning_of("User:alice") == ""
    assert warning_of("грузы") == ""
    assert warning_of("東京-topic") == ""
