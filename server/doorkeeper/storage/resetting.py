"""Forgetting dynamic values while no server runs: the way back for who locked everybody out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.storage.contract import Author, Change, ConfigKey, StorageError
from doorkeeper.storage.embedded import EmbeddedStore
from doorkeeper.storage.files import DATABASE_NAME
from doorkeeper.storage.writing_once import write_once

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

AUTHOR = Author("", "", "", "doorkeeper config reset")
"""Who the change log names: no client asked."""


def forget(
    data_dir: Path,
    names: Collection[str] | None,
    *,
    now_ms: Callable[[], int],
    random_bytes: Callable[[int], bytes],
) -> list[ConfigKey]:
    """Delete the dynamic values of these keys, of all keys where there are no names.

    They are deleted of every broker and of the cluster; returns what was deleted.

    Raises:
        StorageError: there is no store, a server uses it, or it cannot be written.

    """
    path = data_dir / DATABASE_NAME
    if not path.exists():
        raise StorageError(f"{path}: there is no store")
    store = EmbeddedStore.open(data_dir, now_ms=now_ms, random_bytes=random_bytes)
    try:
        found = [key for key, _ in store.configs() if names is None or key.name in names]
        if found:
            write_once(store, Change(author=AUTHOR, configs_deleted=tuple(found)))
    finally:
        store.close()
    return found
