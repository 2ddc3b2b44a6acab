"""YAML files with lines: what cannot be read, and values that are not what they must be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.config.document import FILE_BYTES_MAX, FaultList, parse, read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from doorkeeper.server.config.document import YamlValue


def faults_of(path: Path) -> list[str]:
    """Return what is wrong with a file."""
    faults = FaultList(str(path))
    assert read(path, faults) is None
    return [str(each) for each in faults.problems]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """One fault each, with the reason."""
    absent, folder, latin, large = (tmp_path / name for name in "abcd")
    folder.mkdir()
    latin.write_bytes(b"groups: [\xe4]")
    (tmp_path / "e").write_text("a: [1\nb: 2\n")
    with large.open("wb") as file:
        file.truncate(FILE_BYTES_MAX + 1)

    assert faults_of(absent) == [f"{absent}: cannot be read: No such file or directory"]
    assert faults_of(folder) == [f"{folder}: cannot be read: Is a directory"]
    assert faults_of(tmp_path / "e")[0].startswith(f"{tmp_path / 'e'}:2: invalid YAML: ")
    assert faults_of(latin) == [f"{latin}: is not UTF-8 at byte 9"]
    assert faults_of(large) == [f"{large}: {FILE_BYTES_MAX + 1} bytes; at most {FILE_BYTES_MAX}"]


def id_of(value: YamlValue) -> object:
    return value.fields(("id",), required=("id",))["id"].text()


@pytest.mark.parametrize(
    ("text", "look", "fault"),
    [
        ("{}", lambda value: value.fields(("id",), required=("id",)), "f:1: lacks id"),
        ("{idd: a}", lambda value: value.fields(("id",)),
         "f:1: idd: unknown key; did you mean id?"),
        ("\n- a", lambda value: value.entries(), "f:2: must be a mapping, not a list"),
        ("orders", lambda value: value.items(), "f:1: must be a list, not 'orders'"),
        ("id: no", id_of, "f:1: id: must be a text, not 'no'; put quotes around it"),
        ("id: ''", id_of, "f:1: id: must not be empty"),
        ("{id: a, id: b}", id_of, "f:1: id: occurs twice"),
        ("{id: a, [b]: 1}", id_of, "f:1: a key must be a single value"),
        ("010", lambda value: value.number(1, 9),
         "f:1: must be a whole number from 1 to 9, not '010'"),
        ("{b: 1}", lambda value: value.scalar(), "f:1: must be a single value, not a mapping"),
        ("9" * 32768, lambda value: value.scalar(), "f:1: takes 32768 bytes; at most 32767"),
    ],
)  # fmt: skip
def test_faults(text: str, look: Callable[[YamlValue], object], fault: str) -> None:
    """Each with its line, its place, and what would be right."""
    faults = FaultList("f")
    value = parse(text, faults)
    assert value is not None

    look(value)

    assert list(map(str, faults.problems)) == [fault]


def test_scalars_are_as_they_are_written() -> None:
    """A truth value has one spelling."""
    faults = FaultList("f")
    found = parse("[1_000, yes, 86400000, text]", faults)
    assert found is not None

    assert [each.scalar() for each in found.items()] == ["1_000", "true", "86400000", "text"]
    assert faults.problems == []
