"""The data path of one server: its records, its groups and transactions, and their APIs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec.structs import replace

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api import (
    delete_groups,
    delete_records,
    describe_log_dirs,
    describe_transactions,
    list_offsets,
    list_transactions,
    offset_commit,
    offset_fetch,
    offset_for_leader_epoch,
)
from doorkeeper.server.api.node import Update
from doorkeeper.server.schema.declared import TOPIC
from doorkeeper_broker import fetch
from doorkeeper_broker.classic_apis import ClassicApis
from doorkeeper_broker.classic_group import ClassicGroup
from doorkeeper_broker.consumer_apis import ConsumerApis
from doorkeeper_broker.contents import Inspection
from doorkeeper_broker.coordinator import Coordinator
from doorkeeper_broker.produce import Producing
from doorkeeper_broker.records import Records
from doorkeeper_broker.share_apis import ShareApis
from doorkeeper_broker.share_fetch import ShareRecords
from doorkeeper_broker.share_offsets import ShareOffsets
from doorkeeper_broker.transaction_apis import TransactionApis

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from doorkeeper.server.api.declaration import Api
    from doorkeeper.server.api.node import Node, Outcome, Response
    from doorkeeper.server.runtime.request_context import RequestContext
    from doorkeeper.server.schema.change import Committed
    from doorkeeper.server.state.log import StateLog
    from doorkeeper_wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
    from doorkeeper_wire.messages.offset_commit import OffsetCommitRequest

    Handle = Callable[[Any, RequestContext, Node], Outcome]


class DataPath:
    """All that the package adds to one server. For the event loop's thread."""

    def __init__(self, *, node: Node, log: StateLog, memory_bytes: int) -> None:
        self._node = node
        self.records = Records(memory_bytes)
        self._transactions = TransactionApis(self.records, node)
        self._producing = Producing(self.records, self._transactions.check_batch)
        self.coordinator = Coordinator(log, node.now_ms, lambda: node.settings)
        self._classic = ClassicApis(self.coordinator)
        self._consumers = ConsumerApis(self.coordinator)
        offsets = ShareOffsets(self.coordinator, self.records, node)
        self._share_records = ShareRecords(self.coordinator, self.records, offsets, node)
        self._shares = (ShareApis(self.coordinator), self._share_records, offsets)
        log.subscribe(self._forget_topics, TOPIC)

    @property
    def apis(self) -> tuple[Api, ...]:
        """Return the APIs that are added, or served instead of those of the server."""
        return tuple(replace(api, handle=self._inspecting(api.handle)) for api in self._apis())

    def _inspecting(self, handle: Handle) -> Handle:
        """Return a handler with a limit of its own for what it opens of record batches."""

        def handle_within_limit(request: object, context: RequestContext, node: Node) -> Outcome:
            self.records.memory.inspection = Inspection()
            return handle(request, context, node)

        return handle_within_limit

    def _apis(self) -> tuple[Api, ...]:
        transactions = self._transactions.transactions
        return (
            self._producing.api(),
            fetch.api(self.records),
            *(self._with_records(each) for each in _RECORD_APIS),
            *self._classic.apis(),
            *self._consumers.apis(),
            *(api for part in self._shares for api in part.apis()),
            *self._transactions.apis(),
            replace(offset_commit.API, handle=self._commit_offsets),
            replace(
                offset_fetch.API,
                handle=partial(offset_fetch.handle, find_pending=transactions.pending),
            ),
            *(
                replace(
                    module.API, handle=partial(module.handle, transactions=transactions.described)
                )
                for module in (describe_transactions, list_transactions)
            ),
            replace(delete_groups.API, handle=self._delete_groups),
        )

    def disconnected(self, connection: int) -> None:
        """End the sessions of share groups that a connection had."""
        self._share_records.disconnected(connection)

    def close(self) -> None:
        """Stop all timers."""
        self.coordinator.close()
        self._transactions.close()

    def _commit_offsets(
        self, request: OffsetCommitRequest, context: RequestContext, node: Node
    ) -> Outcome:
        """Commit offsets as the server does; a commit is a sign of life too."""
        outcome = offset_commit.handle(request, context, node)
        group = self.coordinator.find(request.group_id, ClassicGroup)
        if group is not None and isinstance(outcome, Update):
            group.touch(request.member_id, node.now_ms())
            self.coordinator.update(group)
        return outcome

    def _delete_groups(
        self, request: DeleteGroupsRequest, context: RequestContext, node: Node
    ) -> Outcome:
        """Delete groups as the server does; then they are no longer live."""
        outcome = delete_groups.handle(request, context, node)
        if not isinstance(outcome, Update):
            return outcome
        respond = outcome.respond

        def respond_and_forget(codes: Sequence[Any]) -> Response:
            response = cast("DeleteGroupsResponse", respond(codes))
            for row in response.results:
                if row.error_code == ErrorCode.NONE:
                    self.coordinator.forget(row.group_id)
            return response

        return replace(outcome, respond=respond_and_forget)

    def _with_records(self, module: ModuleType) -> Api:
        """Return an API of the server, with the records of this data path."""
        api: Api = module.API
        return replace(api, handle=partial(module.handle, log_of=self.records.log_of))

    def _forget_topics(self, committed: Committed) -> None:
        """Delete the records of topics that are deleted."""
        edit = committed.change.get(TOPIC)
        if edit is not None and not edit.deleted:
            return

        def is_deleted(topic_id: bytes) -> bool:
            return self._node.topics.by_id(topic_id) is None

        # Without an edit everything was loaded anew.
        for topic_id in filter(is_deleted, self.records.topic_ids()):
            self.records.delete_topic(topic_id)
        self.coordinator.forget_topics(is_deleted)


_RECORD_APIS = (list_offsets, delete_records, offset_for_leader_epoch, describe_log_dirs)
"""Modules of the server whose answers depend on records."""


API_KEYS: Final = (
    *(0, 1, 2, 8, 9, 11, 12, 13, 14, 21, 22, 23, 24, 25, 26, 28, 35, 42, 65, 66, 68),
    *(76, 78, 79, 90, 91, 92),
)
"""The keys of ``DataPath.apis``."""


def open_data_path(*, node: Node, log: StateLog, memory_bytes: int) -> DataPath:
    """Open the data path of a server whose event loop runs."""
    return DataPath(node=node, log=log, memory_bytes=memory_bytes)
