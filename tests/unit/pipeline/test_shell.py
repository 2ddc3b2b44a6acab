"""Any text as a word of bash."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper_pipeline.shell import word

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)


def parsed(line: str) -> list[str]:
    """Return the words of a line, as bash reads them, in a locale that knows no UTF-8."""
    script = f"printf '%s\\0' {line}"
    given = subprocess.run(
        ["bash", "-c", script], check=True, capture_output=True, env={"LC_ALL": "C"}
    )
    return given.stdout.decode().split("\0")[:-1]


@pytest.mark.parametrize(
    "text",
    [
        "orders",
        "",
        "-x",
        "it's",
        '"$HOME" `id` $(id) \\',
        "a;b|c&d>e<f*?[x]{y}~!#",
        "line\nbreak",
        "tab\tand\rreturn",
        "\x1b[2J\x9b",
        "\x01f",
        "Zo\u00eb \U0001f600 \u202e\u2028 \ufeff",
        "it's\nhers \\n $x",
    ],
)
def test_bash_reads_it_back(text: str) -> None:
    """Bash reads each word as the text it was, and the next one too."""
    quoted = word(text)
    assert quoted is not None

    assert parsed(f"{quoted} {quoted}") == [text, text]
    assert quoted.isprintable()


@settings(max_examples=25, deadline=None)
@given(many=st.lists(texts, min_size=1, max_size=8))
def test_many_at_once(many: list[str]) -> None:
    """Words in a row stay apart, whatever they hold."""
    assert parsed(" ".join(filter(None, map(word, many)))) == many


@pytest.mark.parametrize("text", ["a\0b", "half \ud83d"])
def test_what_no_argument_holds(text: str) -> None:
    """A NUL and half a pair have no word."""
    assert word(text) is None
