"""doorkeeper_schemas.decoding."""

from pathlib import Path

import pytest
from construct import Float32b, Pass

from doorkeeper_schemas.decoding import bytes_min, decoder
from doorkeeper_schemas.naming import Functions, Structs
from doorkeeper_schemas.trees import message_tree
from doorkeeper_wire.declared import tree
from doorkeeper_wire.declared.nodes import Array, Record
from testkit.schema_files import ODD, module_of


def test_runs_reach_up_to_the_next_length() -> None:
    """Fixed-size fields and the length behind them are read by one struct."""
    functions, structs = Functions(), Structs("unpack")

    decoder(tree("CreateAclsRequest", 2), functions, structs, "acls", 2)

    assert 'Struct(">bB").unpack_from' in structs.source()
    assert 'Struct(">bbB").unpack_from' in structs.source()
    assert "item.operation, item.permission_type, tagged = " in functions.source()


@pytest.mark.parametrize(("version", "least"), [(0, 5), (1, 3), (2, 3)])
def test_least_sizes(tmp_path: Path, version: int, least: int) -> None:
    """The least size of a struct counts each field at its shortest."""
    assert bytes_min(message_tree(module_of(tmp_path, ODD).messages[0], version)) == least


def test_unknown_nodes() -> None:
    """A node, or an element of an array, that no schema leads to is refused."""
    broken = Record("Odd", "names" / Array(Array(Float32b)))

    with pytest.raises(TypeError, match="no decoder for an array of"):
        decoder(broken, Functions(), Structs("unpack"), "odd", 0)
    with pytest.raises(TypeError, match="no decoder for"):
        decoder(Record("Odd", "x" / Pass), Functions(), Structs("unpack"), "odd", 0)
