"""Writing a properties file of Java's."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper.base.properties import parse
from doorkeeper.testing.clients import properties_text


@settings(max_examples=50)
@given(st.text())
def test_any_value_round_trips(value: str) -> None:
    text = properties_text({"a.key": value, "another": "x"})

    assert text.isascii()
    found = {entry.key: entry.value for entry in parse(text.encode(), "file")}
    assert found == {"a.key": value, "another": "x"}
