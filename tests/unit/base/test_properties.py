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


PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvwIB\nE7Yth==\nE7Yth=\n-----END PRIVATE KEY-----\n"


@pytest.mark.parametrize(
    ("text", "line", "keys"),
    [
        (f"a.key={PEM}b=1\n", 1, ["b"]),
        (f"x=1\na.key=\n{PEM}b.c=1\n", 3, ["x", "a.key", "b.c"]),
        (f"a.key=\\\n{PEM}b=1\n", 1, ["b"]),
        ("a.key=-----BEGIN PRIVATE KEY-----\nMIIEvwIB\nb.c=1\n", 1, ["b.c"]),
        (f"a.key={PEM}a.chain={PEM}", 1, []),
    ],
)
def test_lines_of_a_pem_are_not_entries(text: str, line: int, keys: list[str]) -> None:
    """Their names would be parts of a private key, and names are shown."""
    with pytest.raises(ConfigError) as caught:
        parse(text.encode(), "f")

    assert f"line {line} is not continued: is this PEM?" in str(caught.value)
    assert "MII" not in str(caught.value)
    assert [entry.key for entry in caught.value.entries] == keys


@pytest.mark.parametrize("end", [" \\\n", "\\n\\\n"])
def test_continued_pem_is_one_value(end: str) -> None:
    (entry, after) = parse(f"a.key={end.join(PEM.splitlines())}\nb=1\n".encode(), "f")

    assert entry.value.startswith("-----BEGIN")
    assert entry.value.endswith("KEY-----")
    assert after.key == "b"
