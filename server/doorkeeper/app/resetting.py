"""Forgetting dynamic values without a server: the way back for who locked everybody out."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from doorkeeper.app.offline_trail import recorded_store, trail_logs
from doorkeeper.storage.contract import Author, Change, ConfigKey
from doorkeeper.storage.writing_once import written

if TYPE_CHECKING:
    from collections.abc import Collection

    from doorkeeper.config.settings import Settings

AUTHOR = Author("Server:doorkeeper", "", "", "doorkeeper config reset")
"""Who the change log names: no client asked."""


def forget(settings: Settings, names: Collection[str] | None) -> list[ConfigKey]:
    """Delete the dynamic values of these keys, of all keys where there are no names.

    They are deleted of every broker and of the cluster; returns what was deleted.

    Raises:
        StorageError: there is no store, a server uses it, or it cannot be written.
        StartError: the audit trail cannot be written.

    """
    with trail_logs(settings):
        return asyncio.run(_forget(settings, names))


async def _forget(settings: Settings, names: Collection[str] | None) -> list[ConfigKey]:
    async with recorded_store(settings, make_store=False) as (store, trail):
        found = [key for key, _ in store.configs() if names is None or key.name in names]
        if found:
            async with trail.recording():
                await written(store, Change(author=AUTHOR, configs_deleted=tuple(found)))
    return found
