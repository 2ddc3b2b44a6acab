"""doorkeeper_schemas.declaring."""

from pathlib import Path

import pytest

from doorkeeper_schemas.declaring import constant, declared_source, node_source
from doorkeeper_schemas.trees import message_tree
from testkit.schema_files import ODD, module_of


def test_the_source_makes_the_same_tree(tmp_path: Path) -> None:
    """A declared module, when run, holds for each version the tree that it was written from."""
    module = module_of(tmp_path, ODD)
    space: dict[str, tuple[object, ...]] = {}

    exec(declared_source(module), space)

    for version, tree in enumerate(space["ODD"]):
        assert node_source(tree) == node_source(message_tree(module.messages[0], version))


def test_versions_with_one_layout_share_a_tree(tmp_path: Path) -> None:
    """A version that changes nothing has no tree of its own."""
    source = declared_source(module_of(tmp_path, ODD.replace("versions: 0-2", "versions: 0-4")))

    assert "ODD = (_ODD_V0, _ODD_V1, _ODD_V2, _ODD_V2, _ODD_V2, )" in source


def test_names_of_constants() -> None:
    """The trees of a message are under its name in capitals."""
    assert constant("DescribeAclsRequest") == "DESCRIBE_ACLS_REQUEST"


def test_unknown_nodes() -> None:
    """A node that no schema leads to has no source."""
    with pytest.raises(TypeError, match="no source"):
        node_source(object())
