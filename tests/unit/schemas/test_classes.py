"""doorkeeper_schemas.classes."""

from pathlib import Path

import pytest

from doorkeeper_schemas.classes import class_names, class_sources
from doorkeeper_schemas.reading import SchemaError
from testkit.schema_files import ODD, module_of

TWICE = (
    ODD
    + """
  - name: Other
    type: Piece
    nullable: 0+
    default: null
    meaning: The same struct at another place.
    fields:
      - name: Id
        type: uuid
        meaning: Another id.
      - name: Weight
        type: int64
        default: -1
        meaning: A long number, in other versions.
"""
)


def test_structs_come_before_their_users(tmp_path: Path) -> None:
    """Each struct has one class, and stands before the message that holds it."""
    module = module_of(tmp_path, ODD)
    sources = class_sources(module)

    assert class_names(module) == ["Odd", "Piece"]
    assert [source.split("(")[0] for source in sources] == ["class PieceDraft", "class OddDraft"]
    assert "weight: int = -1" in sources[0]
    assert "inner: Piece | None = None" in sources[1]
    assert "An id. (0 to 2)" in sources[0]


def test_a_struct_at_two_places_is_one_class(tmp_path: Path) -> None:
    """Two structs of one name and the same fields are one; with other fields they are refused."""
    assert len(class_sources(module_of(tmp_path, TWICE))) == 2

    with pytest.raises(SchemaError, match="Piece has two forms"):
        class_sources(module_of(tmp_path, TWICE.replace("default: -1\n        meaning", "meaning")))


def test_secret_fields_are_named(tmp_path: Path) -> None:
    """A class lists the fields that are not shown; most have none."""
    text = ODD.replace("        type: uuid\n", "        type: uuid\n        secret: true\n")

    first, second = class_sources(module_of(tmp_path, text))

    assert 'SECRETS = ("id", )' in first
    assert "SECRETS" not in second


def test_a_float_is_a_float(tmp_path: Path) -> None:
    """float64 is Python's float, and 0.0 where nothing else is said."""
    text = ODD.replace("type: int64", "type: float64").replace("        default: -1\n", "")

    assert "weight: float = 0.0" in class_sources(module_of(tmp_path, text))[0]
