"""Schemas made for tests: what no message of Kafka's has, and what a schema must not have."""

from pathlib import Path
from types import ModuleType

from doorkeeper_schemas.modules import messages_source
from doorkeeper_wire.declared.model import Module
from doorkeeper_wire.declared.schema_file import read_module

ODD = """
message: Odd
versions: 0-2
flexible: 1+
meaning: A message with everything that is rare.
fields:
  - name: Level
    type: int16
    versions: 2+
    tag: 3
    default: 7
    meaning: A tag that version 1 does not have.
  - name: Names
    type: "[]string"
    versions: 1+
    tag: 1
    meaning: A tag that holds an array.
  - name: Held
    type: Holder
    versions: 1+
    tag: 2
    meaning: A tag that holds a struct, which is never null.
    fields:
      - name: Owner
        type: int32
        default: -1
        meaning: A number.
  - name: Blob
    type: bytes
    nullable: 2+
    meaning: Bytes that may be null in the last version.
  - name: Inner
    type: Piece
    nullable: 0+
    default: null
    meaning: A struct that may be null.
    fields:
      - name: Id
        type: uuid
        meaning: An id.
      - name: Weight
        type: int64
        versions: 1+
        default: -1
        ignorable: true
        meaning: A long number.
"""


def module_of(folder: Path, content: str, name: str = "odd") -> Module:
    """Return the module that a schema file of this content describes.

    Raises:
        SchemaError: when it describes none.
    """
    path = folder / f"{name}.yaml"
    path.write_text(content, encoding="utf-8")
    return read_module(path)


def generated_module(module: Module) -> ModuleType:
    """Return the generated code of a module, run."""
    found = ModuleType(f"generated_{module.name}")
    exec(messages_source(module), found.__dict__)
    return found
