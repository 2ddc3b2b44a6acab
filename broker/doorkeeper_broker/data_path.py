"""The data path of one server: its records, its groups and transactions, and their APIs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from doorkeeper.handlers import delete_records, list_offsets, offset_for_leader_epoch
from doorkeeper.kinds.declared import TOPIC
from doorkeeper_broker import fetch
from doorkeeper_broker.produce import Producing
from doorkeeper_broker.records import Records

if TYPE_CHECKING:
    from types import ModuleType

    from doorkeeper.api.declaration import Api
    from doorkeeper.api.node import Node
    from doorkeeper.kinds.change import Committed
    from doorkeeper.state.log import StateLog


class DataPath:
    """All that the package adds to one server. For the event loop's thread."""

    def __init__(self, *, node: Node, log: StateLog, memory_bytes: int) -> None:
        self._node = node
        self.records = Records(memory_bytes)
        self._producing = Producing(self.records)
        log.subscribe(self._forget_topics, TOPIC)

    @property
    def apis(self) -> tuple[Api, ...]:
        """Return the APIs that are added, or served instead of those of the server."""
        return (
            self._producing.api(),
            fetch.api(self.records),
            *(self._with_records(each) for each in _RECORD_APIS),
        )

    def close(self) -> None:
        """Stop all timers."""

    def _with_records(self, module: ModuleType) -> Api:
        """Return an API of the server, with the records of this data path."""
        api: Api = module.API
        return api._replace(handle=partial(module.handle, records=self.records))

    def _forget_topics(self, committed: Committed) -> None:
        """Delete the records of topics that are deleted."""
        edit = committed.change.get(TOPIC)
        if edit is None or edit.deleted:
            # Without an edit everything was loaded anew.
            for topic_id in self.records.topic_ids():
                if self._node.topics.by_id(topic_id) is None:
                    self.records.delete_topic(topic_id)


_RECORD_APIS = (list_offsets, delete_records, offset_for_leader_epoch)
"""Modules of the server whose answers depend on records."""


def open_data_path(*, node: Node, log: StateLog, memory_bytes: int) -> DataPath:
    """Open the data path of a server whose event loop runs."""
    return DataPath(node=node, log=log, memory_bytes=memory_bytes)
