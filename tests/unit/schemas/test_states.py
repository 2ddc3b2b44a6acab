"""doorkeeper_schemas.states: kinds of state, read and written, and the page of them."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import astuple

from doorkeeper.server.schema.kind import Item
from doorkeeper_schemas.states import StateKind, declared_state_source, read_states
from doorkeeper_wire.declared.schema_file import SchemaError

if TYPE_CHECKING:
    from pathlib import Path

ODD = """
kind: odd
meaning: A row of a test.
field: odds
audit: {subject: oddities, name: name, detail: place}
key:
  - {name: place, type: string, meaning: The place.}
  - {name: name, type: string, meaning: The name.}
values:
  - {name: weight, type: float, meaning: The weight.}
  - {name: pin, type: bytes, secret: true, meaning: The pin.}
  - {name: color, type: string, default: red, meaning: The color.}
  - {name: tags, type: strings, default: [], meaning: The tags.}
"""


def kinds_of(folder: Path, content: str = ODD) -> tuple[StateKind, ...]:
    (folder / "odd.yaml").write_text(content, encoding="utf-8")
    return read_states(folder)


def module_of(kinds: tuple[StateKind, ...]) -> Any:
    module = ModuleType("generated_kinds")
    # There msgspec looks for what annotations name.
    sys.modules[module.__name__] = module
    exec(declared_state_source(kinds), module.__dict__)
    return module


def test_generated_kind(tmp_path: Path) -> None:
    module = module_of(kinds_of(tmp_path))
    row = module.StoredOdd("here", "one", 1.5, b"1234")

    assert astuple(row) == ("here", "one", 1.5, b"1234", "red", ())
    assert repr(row) == "StoredOdd(place='here', name='one', weight=1.5, color='red', tags=())"
    assert module.KINDS == {"odd": module.ODD}
    kind = module.ODD
    assert (kind.name, kind.field, kind.subject) == ("odd", "odds", "oddities")
    assert (kind.audit_name, kind.audit_detail) == ("name", "place")
    assert kind.key == ("place", "name")
    assert kind.encode(row) == Item('["here","one"]', '[1.5,null,"red",[]]', '["MTIzNA=="]')
    assert kind.decode(kind.encode(row)) == row


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("kind: odd", "kind: even", "odd: even belongs in even.yaml"),
        (
            "field: odds",
            "field: odds\ncolor: red",
            "odd: unknown keys color; allowed: audit",
        ),
        ("field: odds", "field: odd-s", "odd: field must be a name as Python has it, found odd-s"),
        ("subject: oddities, ", "", "odd.audit: subject: found None; expected: a string"),
        ("name: name, detail", "name: pin, detail", "odd.audit: name must be a column of type str"),
        ("detail: place", "detail: weight", "odd.audit: detail must be a column of type string"),
        ("audit: {", "audit: {color: red, ", "odd.audit: unknown keys color; allowed: detail"),
        ("{name: weight, type: float", "{name: weight, type: real", "odd.weight: type must be one"),
        ("{name: weight", "{name: place", "odd: duplicate column: place"),
        ("{name: weight", "{name: _weight", "odd: name must be a name as Python has it"),
        ("meaning: The pin.", "meaning: ''", "odd.pin: meaning: found ''; expected: a string"),
        ("secret: true", "secret: maybe", "odd.pin: secret must be true or false, found 'maybe'"),
        ("default: red", "default: 7", "odd.color: default 7 is not of type string"),
        ("default: []", "default: [a]", "odd.tags: the default of strings can only be empty"),
        ("default: [], ", "", "odd.tags: default is missing: columns before it have one"),
        ("{name: place, type: string", "{name: place, type: int", "odd.place: a column of the key"),
        ("{name: place,", "{name: place, secret: true,", "odd.place: a column of the key is a str"),
        ("values:\n", "values:\n  - 5\n", "odd: expected keys and values, found 5"),
        ("kind: odd", "kind: odd\nrow: Row", "odd: row must be module.Class, found 'Row'"),
        ("kind: odd", "kind: [", "while parsing"),
    ],
)
def test_invalid_kinds(tmp_path: Path, before: str, after: str, text: str) -> None:
    assert before in ODD

    with pytest.raises(SchemaError) as caught:
        kinds_of(tmp_path, ODD.replace(before, after, 1))

    assert str(caught.value).startswith(str(tmp_path / "odd.yaml"))
    assert text in str(caught.value)


def test_field_belongs_to_one_kind(tmp_path: Path) -> None:
    (tmp_path / "even.yaml").write_text(ODD.replace("kind: odd", "kind: even"), encoding="utf-8")

    with pytest.raises(SchemaError, match=r"odd\.yaml: odd: field odds is that of the kind even"):
        kinds_of(tmp_path)
