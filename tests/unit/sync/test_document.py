"""YAML files with lines: what cannot be read, and values that are not what they must be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.app.errors import StartError
from doorkeeper.sync.document import FILE_BYTES_MAX, parse, read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from doorkeeper.sync.document import YamlValue


def faults_of(path: Path) -> list[str]:
    """Return what is wrong with a file."""
    with pytest.raises(StartError) as caught:
        read(path)
    return [str(each) for each in caught.value.problems]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """One fault each, with the reason."""
    absent, folder, latin, large, wrong = (tmp_path / name for name in "abcde")
    folder.mkdir()
    latin.write_bytes(b"groups: [\xe4]")
    wrong.write_text("a: [1\nb: 2\n")
    with large.open("wb") as file:
        file.truncate(FILE_BYTES_MAX + 1)

    assert faults_of(absent) == [f"{absent}: cannot be read: No such file or directory"]
    assert faults_of(folder) == [f"{folder}: cannot be read: Is a directory"]
    assert faults_of(wrong)[0].startswith(f"{wrong}:2: not YAML: ")
    assert faults_of(latin) == [f"{latin}: byte 9 is not UTF-8"]
    assert faults_of(large) == [f"{large}: {FILE_BYTES_MAX + 1} bytes; at most {FILE_BYTES_MAX}"]


@pytest.mark.parametrize("text", ["[" * 200_000, "{a: " * 200_000])
def test_nesting_does_not_end_the_process(tmp_path: Path, text: str) -> None:
    """The composer of libyaml overflows the stack."""
    file = tmp_path / "deep"
    file.write_text(f"groups: {text}")

    assert faults_of(file) == [f"{file}:1: not YAML: nested too deeply"]


def id_of(value: YamlValue) -> object:
    return value.fields(("id",), required=("id",))["id"].text()


@pytest.mark.parametrize(
    ("text", "look", "fault"),
    [
        ("{}", lambda value: value.fields(("id",), required=("id",)), "f: lacks id"),
        ("\nidd: a", lambda value: value.fields(("id",)),
         "f:2: idd: unknown key; did you mean id?"),
        ("\n- a", lambda value: value.items()[0].entries(), "f:2: [0]: must be a mapping, not 'a'"),
        ("orders", lambda value: value.items(), "f: must be a list, not 'orders'"),
        ("id: no", id_of, "f:1: id: must be a text, not False; put quotes around it"),
        ("id: ''", id_of, "f:1: id: must not be empty"),
        ("{id: a, 1: 1}", id_of, "f: a key must be a text, not 1"),
        ("1.5", lambda value: value.number(1, 9), "f: must be a whole number from 1 to 9, not 1.5"),
        ("yes", lambda value: value.number(0, 9),
         "f: must be a whole number from 0 to 9, not True"),
        ("{b: 1}", lambda value: value.scalar(), "f: must be a single value, not a mapping"),
    ],
)  # fmt: skip
def test_faults(text: str, look: Callable[[YamlValue], object], fault: str) -> None:
    """Each with its line, its place, and what would be right."""
    value = parse(text, "f")

    look(value)

    with pytest.raises(StartError) as caught:
        value.faults.raise_any()
    assert list(map(str, caught.value.problems)) == [fault]


def test_scalars_are_texts() -> None:
    """A truth value has one spelling."""
    found = parse("[yes, 86400000, 0.5, text]", "f")

    assert [each.scalar() for each in found.items()] == ["true", "86400000", "0.5", "text"]
    found.faults.raise_any()
