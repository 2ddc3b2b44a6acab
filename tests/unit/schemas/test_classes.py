"""doorkeeper_schemas.classes."""

from pathlib import Path

import pytest

from doorkeeper_schemas.classes import class_sources
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


def test_a_struct_at_two_places_is_one_class(tmp_path: Path) -> None:
    """Two structs of one name and the same fields are one; with other fields they are refused."""
    assert len(class_sources(module_of(tmp_path, TWICE))) == 2

    with pytest.raises(SchemaError, match="Piece has two forms"):
        class_sources(module_of(tmp_path, TWICE.replace("default: -1\n        meaning", "meaning")))
