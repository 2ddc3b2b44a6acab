"""The values of a file that decisions depend on, as rows of the store: its history has them.

A node writes them when it starts, or reloads its file, with other values than the last ones. Nodes
with one file share the rows without a node; only one whose value differs has rows of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final

from doorkeeper.server.authorizer.standard_keys import POLICY_DEFAULTS
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.schema.change import SERVER, Change, edit
from doorkeeper.server.schema.declared import SETTING, StoredSetting
from doorkeeper.server.schema.kind import Table
from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.state import State
from doorkeeper.server.state.submissions import CompletedPlan

ALL_NODES: Final = ""


def first_settings(settings: Settings) -> Change:
    """Return the rows that a new store begins with."""
    values = _file_values(settings).items()
    return edit(SETTING, set=[StoredSetting(ALL_NODES, name, value) for name, value in values])


def other_settings(rows: Table[StoredSetting], settings: Settings) -> Change:
    """Return the change to the values of a node; an empty one if the store has them."""
    node = str(settings.node_id)
    changed = []
    for name, value in _file_values(settings).items():
        known = rows.get(node, name) or rows.get(ALL_NODES, name)
        if known is None:
            changed.append(StoredSetting(ALL_NODES, name, value))
        elif known.value != value:
            changed.append(StoredSetting(node, name, value))
    return edit(SETTING, set=changed) if changed else {}


def record_settings(log: StateLog, settings: Settings, logger: Logger) -> None:
    """Write the values of a node behind the changes that wait, if the store has others."""

    def plan(state: State) -> tuple[Change, None]:
        return other_settings(state.settings, settings), None

    def note(done: asyncio.Future[CompletedPlan[None]]) -> None:
        if not done.cancelled() and (error := done.exception()) is not None:
            logger.error(
                "the settings that decisions depend on could not be recorded in the history",
                cause=str(error),
            )

    if other_settings(log.state.settings, settings):
        log.submit(plan, SERVER).add_done_callback(note)


def settings_of(rows: Iterable[StoredSetting], node: str | None) -> Mapping[str, str] | None:
    """Return the values of a node; None if one is not known.

    A ``node`` of None is the only node with rows of its own, or else those without.
    """
    by_node: dict[str, dict[str, str]] = {}
    for row in rows:
        by_node.setdefault(row.node, {})[row.name] = row.value
    values = dict(by_node.pop(ALL_NODES, {}))
    own = [by_node.get(node, {})] if node is not None else list(by_node.values())
    for node_values in own:
        values |= node_values
    is_one = all(node_values.items() <= values.items() for node_values in own)
    return values if is_one and values.keys() >= POLICY_DEFAULTS.keys() else None


def _file_values(settings: Settings) -> Mapping[str, str]:
    texts = {entry.key: entry.value for entry in settings.static}
    return {name: texts.get(name, default) for name, default in POLICY_DEFAULTS.items()}
