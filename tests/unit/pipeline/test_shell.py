"""Any text as a word of bash."""

import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from doorkeeper_pipeline.bindings import word

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)


def parsed(line: str) -> list[str]:
    """Return the words of a line, as bash reads them, in a locale that knows no UTF-8."""
    script = f"printf '%s\\0' {line}"
    given = subprocess.run(
        ["bash", "-c", script], check=True, capture_output=True, env={"LC_ALL": "C"}
    )
    return given.stdout.decode().split("\0")[:-1]


@settings(max_examples=25, deadline=None)
@example(many=["", "-x", "it's", '"$HOME" `id` $(id) \\', "line\nbreak", "\x1b[2J", "\u202e"])
@given(many=st.lists(texts, min_size=1, max_size=8))
def test_quoted_words_round_trip(many: list[str]) -> None:
    line = " ".join(filter(None, map(word, many)))

    assert parsed(line) == many
    assert line.isprintable()


@pytest.mark.parametrize("text", ["a\0b", "half \ud83d"])
def test_unquotable_texts(text: str) -> None:
    assert word(text) is None
