"""doorkeeper_schemas.reading: a schema that is wrong is refused with file and place."""

from pathlib import Path

import pytest

from doorkeeper_schemas.model import Versions
from doorkeeper_schemas.reading import SchemaError
from testkit.schema_files import ODD, module_of


def test_what_is_read(tmp_path: Path) -> None:
    """Versions, tags, defaults and structs come out as they stand in the file."""
    message = module_of(tmp_path, ODD).messages[0]
    level, names, blob, inner = message.fields

    assert (message.name, message.api_key, message.flexible_from) == ("Odd", -1, 1)
    assert (level.tag, level.default, level.versions) == (3, 7, Versions(2, 2))
    assert (names.is_array, names.default, names.versions) == (True, (), Versions(1, 2))
    assert 2 in blob.nullable
    assert 1 not in blob.nullable
    assert inner.default is None
    assert [field.name for field in inner.fields] == ["id", "weight"]


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("name: Blob", "name: Blob\n    color: red", "Odd.Blob: unknown keys color; there are"),
        ("type: bytes", "type: byte", "Odd.Blob: a list of fields is missing"),
        ("type: bytes", "type: 7", "Odd.Blob: type must be a text, found 7"),
        ("versions: 2+", "versions: 9+", "Odd.Level: versions 9+, where 0-2 is possible"),
        ("versions: 2+", "versions: 2", "versions are written as 3+ or 0-3, not 2"),
        ("versions: 0-2", "versions: 0+", "versions must end: 0-N, or M-N"),
        ("default: 7", "default: x", "Odd.Level: default 'x' is no int16"),
        ("default: 7", "default: null", "Odd.Level: default null, but the field is not nullable"),
        ("tag: 3", "tag: -3", "Odd.Level: tag must be a number from 0, found -3"),
        ("name: Names", "name: Level", "Odd: a field stands there twice"),
        ("name: Blob", "name: Size", "Odd.Size: the name is taken by the generated code"),
        ("    default: null\n", "", "Odd.Inner: a struct that is no array needs default: null"),
        ("tag: 3", "tag: 3\n    nullable: 0+", "Odd.Level: int16 cannot be nullable"),
        ("ignorable: true", "ignorable: 1", "ignorable must be true or false, found 1"),
        ("type: bytes", "type: bytes\n    fields: []", "Odd.Blob: bytes has no fields"),
        ("message: Odd", "message: Even", "Even belongs into even.yaml"),
        ("meaning: An id.", "meaning: ''", "Odd.Inner.Id: meaning must be a text"),
        ("fields:\n  - name: Level", "fields:\n  - 5\n  - name: Level", "found 5"),
        ("message: Odd", "message: [", "while parsing"),
    ],
)
def test_errors(tmp_path: Path, before: str, after: str, text: str) -> None:
    """What is wrong is named with the file, the field and what would be right."""
    assert before in ODD

    with pytest.raises(SchemaError) as caught:
        module_of(tmp_path, ODD.replace(before, after, 1))

    assert str(caught.value).startswith(str(tmp_path / "odd.yaml"))
    assert text in str(caught.value)
