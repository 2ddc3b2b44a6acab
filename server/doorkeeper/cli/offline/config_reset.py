"""Deletion of dynamic values without a server, for example after one locked out all clients.

The server is not started: the values may be what keeps it from starting. Kafka's request changes
those of the cluster and of the node that is asked; this deletes those of all nodes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Final

from doorkeeper.cli.offline.single_user import commit, open_log
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.schema.change import Author, Change, Origin, edit
from doorkeeper.server.schema.declared import CONFIG, StoredConfig
from doorkeeper.server.state.state import State

ORIGIN: Final = Origin(Author("Server:doorkeeper", "", "", "doorkeeper config reset"))
"""The origin in the change log."""


def forget(settings: Settings, names: Collection[str] | None) -> list[StoredConfig]:
    """Delete the dynamic values of these keys; of all keys without ``names``.

    They are deleted for every broker and for the cluster; return the deleted values.

    Raises:
        StorageError: there is no store, a server uses it, or it cannot be written.
        StartError: the audit log cannot be written.

    """
    return asyncio.run(_forget(settings, names))


async def _forget(settings: Settings, names: Collection[str] | None) -> list[StoredConfig]:
    def plan(state: State) -> tuple[Change, list[StoredConfig]]:
        rows = sorted(row for row in state.configs if names is None or row.name in names)
        return edit(CONFIG, deleted=rows), rows

    async with open_log(settings) as assembly:
        if not plan(assembly.log.state)[1]:
            return []
        await assembly.log.start()
        return await commit(assembly, plan, ORIGIN)
