"""Reading server.properties, and overrides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.config.entry import Entry
from doorkeeper.config.errors import ConfigError
from doorkeeper.config.properties import override, parse, read

if TYPE_CHECKING:
    from pathlib import Path


def test_entries_know_their_lines() -> None:
    """A continued entry has the line where it begins; all three ends of lines count."""
    data = b"# a\r\n\r\nx=1\ry = 2\\\n   3\nz:4\n"

    assert parse(data, "f") == [
        Entry("x", "1", "f line 3"),
        Entry("y", "23", "f line 4"),
        Entry("z", "4", "f line 6"),
    ]


def test_bytes_are_latin_1_with_escapes() -> None:
    """As a broker reads them: ISO 8859-1 and Java's escapes."""
    assert parse(b"a=\xe9\\u4e2d\\t", "f")[0].value == "\xe9\u4e2d\t"


def test_a_malformed_escape_names_the_line_and_not_the_text() -> None:
    """The line of a broken escape is told; its characters may be of a password."""
    with pytest.raises(ConfigError) as caught:
        parse(b"a=1\npassword=se\\u00zzcret\n", "f")

    assert str(caught.value) == r"f line 2: a \u is not followed by four hex digits"


def test_all_malformed_escapes_are_told_and_the_rest_is_read() -> None:
    """Reading goes on behind each of them, so that other errors can be told too."""
    with pytest.raises(ConfigError) as caught:
        parse(b"a=1\nb=\\u1\\\n  2\nc=3\r\n# \\u\nd=\\uzzzz", "f")

    assert [problem.source for problem in caught.value.problems] == ["f line 2", "f line 6"]
    assert caught.value.entries == (Entry("a", "1", "f line 1"), Entry("c", "3", "f line 4"))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """What cannot be read is named, with the reason."""
    with pytest.raises(ConfigError, match=r"none\.properties: cannot be read: No such file"):
        read(tmp_path / "none.properties")


def test_a_file_is_read(tmp_path: Path) -> None:
    """The source of an entry is the file's path and line."""
    file = tmp_path / "server.properties"
    file.write_text("node.id=7\n")

    assert read(file) == [Entry("node.id", "7", f"{file} line 1")]


def test_an_override_splits_at_the_first_equals_sign() -> None:
    """The value of an override may hold equals signs."""
    assert override("a.b = c=d") == Entry("a.b", " c=d", "--override")


@pytest.mark.parametrize("argument", ["secret", "=secret", ""])
def test_an_override_without_key_or_sign_is_refused(argument: str) -> None:
    """The refusal does not repeat the text, which may be a password."""
    with pytest.raises(ConfigError) as caught:
        override(argument)

    assert str(caught.value) == "--override: expected key=value"


@given(st.dictionaries(st.text(st.characters(codec="ascii", exclude_categories=["C"]), min_size=1),
                       st.text(st.characters(exclude_categories=["C"]))))  # fmt: skip
def test_what_is_escaped_comes_back(entries: dict[str, str]) -> None:
    """Every key and value that is written with escapes is read again."""

    def escaped(text: str) -> str:
        units = text.encode("utf-16-be")
        pairs = (units[at : at + 2] for at in range(0, len(units), 2))
        return "".join(f"\\u{int.from_bytes(pair):04x}" for pair in pairs)

    data = "".join(f"{escaped(key)}={escaped(value)}\n" for key, value in entries.items())

    found = {entry.key: entry.value for entry in parse(data.encode("ascii"), "f")}
    assert found == entries
