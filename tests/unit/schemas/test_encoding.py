"""doorkeeper_schemas.encoding."""

import pytest
from construct import Pass

from doorkeeper_schemas.encoding import encoder, layout
from doorkeeper_schemas.naming import Functions, Structs
from doorkeeper_wire.declared import tree
from doorkeeper_wire.declared.nodes import Array, Record


def test_empty_tags_are_a_byte_of_the_run() -> None:
    """The empty section of tags is packed with the fields before it."""
    functions, structs = Functions(), Structs("pack")

    encoder(tree("CreateAclsRequest", 2), functions, structs, "acls", 2)

    assert 'Struct(">bbx").pack' in structs.source()
    assert "replace_empty_tags(out, item.unknown_tags)" in functions.source()


def test_an_empty_message() -> None:
    """A message without fields has an encoder that writes nothing."""
    functions = Functions()

    encoder(tree("ApiVersionsRequest", 0), functions, Structs("pack"), "api_versions", 0)

    assert "out.append" not in functions.source()


def test_layouts() -> None:
    """A layout lists the fields of a version and their kinds, tagged ones last."""
    assert layout(tree("SaslAuthenticateResponse", 0)) == (
        "(('error_code', 'int16'), ('error_message', 'nullable text'), ('auth_bytes', 'bytes'), )"
    )
    assert "('zk_migration_ready', 'bool')" in layout(tree("ApiVersionsResponse", 3))


def test_unknown_nodes() -> None:
    """A node that no schema leads to has neither layout nor encoder."""
    with pytest.raises(TypeError, match="no layout for"):
        layout(object())
    broken = Record("Odd", "names" / Array(Array(object())))
    with pytest.raises(TypeError, match="no encoder for an array of"):
        encoder(broken, Functions(), Structs("pack"), "odd", 0)
    with pytest.raises(TypeError, match="no encoder for"):
        encoder(Record("Odd", "x" / Pass), Functions(), Structs("pack"), "odd", 0)
