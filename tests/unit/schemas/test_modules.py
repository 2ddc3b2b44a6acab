"""doorkeeper_schemas.modules: the generated code of a schema with everything that is rare."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from doorkeeper_schemas.modules import messages_source
from doorkeeper_wire.declared import faults
from doorkeeper_wire.declared.model import Module
from doorkeeper_wire.declared.schema_file import SchemaError
from doorkeeper_wire.declared.trees import message_tree
from doorkeeper_wire.errors import Malformed, Unencodable, Unsupported
from testkit.schema_files import ODD, generated_module, module_of
from testkit.wire_values import plain


@pytest.fixture
def module(tmp_path: Path) -> Module:
    return module_of(tmp_path, ODD)


@pytest.fixture
def odd(module: Module) -> ModuleType:
    return generated_module(module)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_generated_code_matches_the_tree(module: Module, odd: ModuleType, version: int) -> None:
    declared = message_tree(module.messages[0], version)
    tagged: dict[str, Any] = {"names": ("a", "b"), "held": odd.Holder(owner=4)} if version else {}
    tagged |= {"level": 5} if version == 2 else {}
    weight = 2**40 if version else -1
    part = odd.Piece(id=bytes(range(16)), weight=weight)

    for message in (odd.Odd(blob=b"x", **tagged), odd.Odd(blob=b"", inner=part, **tagged)):
        encoded = message.encode(version)
        assert encoded == declared.build(plain(message))
        assert plain(declared.parse(encoded)) == plain(message)
        assert odd.Odd.decode(encoded, 0, version) == (message, len(encoded))


def test_tag_of_another_version(odd: ModuleType) -> None:
    """Tag 3 is known in version 2; in version 1 it is refused, and in none it is unknown."""
    with pytest.raises(Malformed, match="tag 3 is not valid in this version"):
        odd.Odd.decode(bytes.fromhex("01" + "ff" + "01" + "03020005"), 0, 1)

    assert odd.Odd.decode(bytes.fromhex("01" + "ff" + "01" + "03020005"), 0, 2)[0].level == 5


def test_reserved_names(tmp_path: Path) -> None:
    module = module_of(tmp_path, ODD.replace("Piece", "Record"))

    with pytest.raises(SchemaError, match=r"odd\.yaml: Record: the name is taken"):
        messages_source(module)


def test_null_by_version(module: Module, odd: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A null is written where the version has it, and refused where not."""
    monkeypatch.setattr(faults, "message", {"Odd": module.messages[0]}.__getitem__)

    assert odd.Odd(blob=None).encode(2) == b"\x00\xff\x00"
    with pytest.raises(Unencodable, match="blob: None where null is not allowed"):
        odd.Odd(blob=None).encode(1)


def test_unrepresentable_values_are_rejected(odd: ModuleType) -> None:
    for name, value in (("names", ("a",)), ("held", odd.Holder(owner=4))):
        with pytest.raises(Unsupported, match=name):
            odd.Odd(**{name: value}).encode(0)
    assert odd.Odd(inner=odd.Piece(weight=4)).encode(0)[-16:] == bytes(16)


@pytest.mark.parametrize("version", [0, 1])
def test_default_tagged_struct_is_omitted(module: Module, odd: ModuleType, version: int) -> None:
    declared = message_tree(module.messages[0], version)
    encoded = odd.Odd(blob=b"").encode(version)

    assert encoded == declared.build({"held": {}, "blob": b""}) == declared.build({"blob": b""})
    assert odd.Odd.decode(encoded, 0, version)[0].held == odd.Holder(owner=-1)
    assert declared.parse(encoded)["held"] == {"owner": -1, "unknown_tags": ()}


def test_struct_used_twice_is_one_class(tmp_path: Path) -> None:
    other = ODD.replace("        default: -1\n", "").replace("name: Inner", "name: Other")
    twice = ODD + other[other.index("  - name: Other") :]

    with pytest.raises(SchemaError, match="Piece has two forms"):
        messages_source(module_of(tmp_path, twice))
