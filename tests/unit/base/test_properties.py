"""Reading server.properties, and overrides."""

from __future__ import annotations

import pytest

from doorkeeper.base.config_errors import ConfigError
from doorkeeper.base.entry import Entry
from doorkeeper.base.properties import override, parse


def test_entries_know_their_lines() -> None:
    """A continued entry has the line where it begins; all three ends of lines count."""
    data = b"# a\r\n\r\nx=1\ry = 2\\\n   3\nz:4\n"

    assert parse(data, "f") == [
        Entry("x", "1", "f line 3"),
        Entry("y", "23", "f line 4"),
        Entry("z", "4", "f line 6"),
    ]


def test_a_malformed_escape_names_the_line_and_not_the_text() -> None:
    """The line of a broken escape is told; its characters may be of a password."""
    with pytest.raises(ConfigError) as caught:
        parse(b"a=1\npassword=se\\u00zzcret\n", "f")

    assert str(caught.value) == r"f line 2: a \u is not followed by four hex digits"


@pytest.mark.parametrize("argument", ["secret", "=secret", ""])
def test_an_override_without_key_or_sign_is_refused(argument: str) -> None:
    """The refusal does not repeat the text, which may be a password."""
    with pytest.raises(ConfigError) as caught:
        override(argument)

    assert str(caught.value) == "--override: expected key=value"
