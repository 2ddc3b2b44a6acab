"""doorkeeper_schemas.trees."""

from pathlib import Path
from typing import Any

from doorkeeper_schemas.trees import message_tree
from testkit.schema_files import ODD, module_of


def test_each_version_has_its_own_tree(tmp_path: Path) -> None:
    """The version decides which fields, tags and lengths a tree has, and what it lacks."""
    message = module_of(tmp_path, ODD).messages[0]
    trees: list[Any] = [message_tree(message, version) for version in range(3)]

    assert [part.name for part in trees[0].subcons] == ["blob", "inner"]
    assert [field.name for field in trees[0].absent] == ["level", "names", "unknown_tags"]
    assert trees[0].tags is None
    assert [field.name for field in trees[1].tags.known] == ["names"]
    assert trees[1].tags.refused == (3,)
    assert [field.tag for field in trees[2].tags.known] == [3, 1]
    assert [part.subcon.compact for part in (trees[0].subcons[0], trees[1].subcons[0])] == [0, 1]
    assert [tree.subcons[0].subcon.nullable for tree in trees] == [False, False, True]
