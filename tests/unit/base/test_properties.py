"""Reading server.properties, and overrides."""

from __future__ import annotations

import pytest

from doorkeeper.base.config_errors import ConfigError
from doorkeeper.base.entry import Entry
from doorkeeper.base.properties import override, parse


def test_entries_have_line_numbers() -> None:
    data = b"# a\r\n\r\nx=1\ry = 2\\\n   3\nz:4\n"

    assert parse(data, "f") == [
        Entry("x", "1", "f line 3"),
        Entry("y", "23", "f line 4"),
        Entry("z", "4", "f line 6"),
    ]


def test_malformed_escape_error_hides_the_text() -> None:
    with pytest.raises(ConfigError) as caught:
        parse(b"a=1\npassword=se\\u00zzcret\n", "f")

    assert str(caught.value) == r"f line 2: a \u is not followed by four hex digits"


@pytest.mark.parametrize("argument", ["secret", "=secret", ""])
def test_invalid_override_error_hides_the_text(argument: str) -> None:
    with pytest.raises(ConfigError) as caught:
        override(argument)

    assert str(caught.value) == "--override: expected key=value"
