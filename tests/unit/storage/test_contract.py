from __future__ import annotations

import pytest

from doorkeeper.storage.contract import Change, ConfigKey
from testkit.stores import AUTHOR, binding, topic


def test_a_change_without_items_is_empty() -> None:
    """A change that holds an author only is false: there is nothing to write."""
    assert not Change(author=AUTHOR)


@pytest.mark.parametrize(
    "change",
    [
        Change(author=AUTHOR, bindings_added=(binding(1),)),
        Change(author=AUTHOR, bindings_removed=(binding(1),)),
        Change(author=AUTHOR, topics_added=(topic("orders"),)),
        Change(author=AUTHOR, topics_removed=("orders",)),
        Change(author=AUTHOR, topics_altered=(topic("orders"),)),
        Change(author=AUTHOR, configs_set=((ConfigKey("1", "super.users"), "User:a"),)),
        Change(author=AUTHOR, configs_deleted=(ConfigKey("1", "super.users"),)),
    ],
)
def test_one_item_of_any_kind_is_something_to_write(change: Change) -> None:
    """A change with one item, whichever its kind, is true."""
    assert change
