"""One change of a store that no server uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.storage.contract import Change, StorageError
from doorkeeper.storage.writing_once import write_once
from testkit.stores import AUTHOR, adding, credential, numbers_in, open_store, removing

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_written_is_durable(data_dir: Path) -> None:
    """It is there when the store is opened again."""
    store = open_store(data_dir)
    write_once(store, adding(1, 2))
    store.close()

    assert numbers_in(data_dir) == [1, 2]


def test_what_cannot_be_written_is_told(data_dir: Path) -> None:
    """The error is the store's; nothing of the change is there."""
    store = open_store(data_dir)
    change = Change(
        author=AUTHOR,
        bindings_removed=removing(1).bindings_removed,
        credentials_set=(credential("alice"),),
    )

    with pytest.raises(StorageError, match="a binding to delete is not in the store"):
        write_once(store, change)

    store.close()
    store = open_store(data_dir)
    assert list(store.credentials()) == []
    store.close()
