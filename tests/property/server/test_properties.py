"""server.properties, beside a reader that is not ours."""

from __future__ import annotations

import javaproperties
from hypothesis import example, given
from hypothesis import strategies as st

from doorkeeper.config.errors import ConfigError
from doorkeeper.config.properties import parse

PARTS = ["\\", "\n", "\r", "\r\n", " ", "\t", "\f", "=", ":", "#", "!", "a", "u", "n", "-1", "\xe9"]
ESCAPES = ["\\u00e9", "\\ud83d\\ude00", "\\ud83d", "\\\n", "\\ ", "\\=", "\\t", "\\u12"]


def expected(data: bytes) -> list[tuple[str, str]] | None:
    """Return what the other one reads; None where it refuses an escape."""
    try:
        found = [
            each for each in javaproperties.parse(data) if isinstance(each, javaproperties.KeyValue)
        ]
    except javaproperties.InvalidUEscapeError:
        return None
    return [(each.key, each.value) for each in found]


@given(st.lists(st.sampled_from(PARTS + ESCAPES), max_size=20).map("".join))
@example("a\\\\\\\n  b c = d\\")
@example("\\\n\\\n # x\n!y\r = \\\\u00e9")
def test_any_file_is_read_as_by_another_reader(text: str) -> None:
    """The same entries in the same order, or a refusal of the same files."""
    data = text.encode("iso-8859-1")

    try:
        found = [(entry.key, entry.value) for entry in parse(data, "f")]
    except ConfigError:
        assert expected(data) is None
    else:
        assert found == expected(data)
