"""Where share groups read: APIs 90 to 92, and the beginning of a partition (KIP-932).

    DescribeShareGroupOffsets 0-1  DESCRIBE on each group (30), and on each topic: one that is named
                                   is 29 in its rows, one of all is left out. v1 has the lag
    AlterShareGroupOffsets 0       READ on the group (30), and on each topic (29 in its rows)
    DeleteShareGroupOffsets 0      DELETE on the group (30), READ on each topic (29 in its row)

The last two need a group without members (68). A group that is not a share group is 69; the second
creates one that does not exist. A topic or partition that does not exist is 3, and so is one
without an offset to delete.

Source: ``KafkaApis``, ``GroupCoordinatorService`` and ``GroupMetadataManager`` of the broker 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.base.errors import DEFAULT_MESSAGES, ApiError, ErrorCode, answer_of
from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.permissions import allowed_names, is_allowed, needs
from doorkeeper.server.resources.settings.group import duration_ms
from doorkeeper_broker.assignors import Partition
from doorkeeper_broker.group_settings import group_text
from doorkeeper_broker.share_group import ShareGroup
from doorkeeper_broker.share_partition import RUNS_MAX, Budget, SharePartition
from doorkeeper_wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from doorkeeper_wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from doorkeeper_wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.server.api.declaration import Api
    from doorkeeper.server.api.node import Node, Response
    from doorkeeper.server.runtime.request_context import RequestContext
    from doorkeeper.server.schema.declared import StoredTopic
    from doorkeeper_broker.coordinator import Coordinator
    from doorkeeper_broker.log import PartitionLog
    from doorkeeper_broker.records import Records

_DESCRIBE_GROUP, _DESCRIBE_NAMED, _DESCRIBE_ALL = needs(DescribeShareGroupOffsetsRequest.API_KEY)
_ALTER_GROUP, _ALTER_TOPIC = needs(AlterShareGroupOffsetsRequest.API_KEY)
_DELETE_GROUP, _DELETE_TOPIC = needs(DeleteShareGroupOffsetsRequest.API_KEY)

_LONG_MAX: Final = 2**63 - 1
_NO_ID: Final = bytes(16)
_BY_DURATION: Final = "by_duration:"
_UNKNOWN: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class ShareOffsets:
    """The offsets of share groups, and the handlers that show and change them."""

    def __init__(self, coordinator: Coordinator, records: Records, node: Node) -> None:
        self._coordinator = coordinator
        self._records = records
        self._node = node
        self._budget = Budget()

    def apis(self) -> tuple[Api, ...]:
        return (
            declare(DescribeShareGroupOffsetsRequest, self.describe, _refuse_description),
            declare(
                AlterShareGroupOffsetsRequest,
                self.alter,
                refuse_as(AlterShareGroupOffsetsResponse),
            ),
            declare(
                DeleteShareGroupOffsetsRequest,
                self.delete,
                refuse_as(DeleteShareGroupOffsetsResponse),
            ),
        )

    # --- partitions

    def partition(
        self, group: ShareGroup, partition: Partition, log: PartitionLog
    ) -> SharePartition:
        """Return the records of a partition, which begin where the group's settings say.

        Raises:
            ApiError: the server keeps too many.
        """
        present = group.partitions.get(partition)
        if present is None:
            present = self._create(group, partition, self._first_offset(group.group_id, log))
        return present

    def _create(self, group: ShareGroup, partition: Partition, offset: int) -> SharePartition:
        if self._budget.used >= RUNS_MAX:
            text = f"The server keeps no more than {RUNS_MAX} runs of records of share groups."
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, text)
        group.drop(partition)
        created = group.partitions[partition] = SharePartition(offset, self._budget)
        return created

    def _first_offset(self, group_id: str, log: PartitionLog) -> int:
        reset = group_text(self._node, group_id, "share.auto.offset.reset", "latest")
        if reset == "earliest":
            return log.start_offset
        if reset.startswith(_BY_DURATION):
            age_ms = duration_ms(reset.removeprefix(_BY_DURATION)) or 0
            found = log.find_time(self._node.now_ms() - age_ms)
            return log.end_offset if found is None else found.offset
        return log.end_offset

    # --- DescribeShareGroupOffsets

    def describe(
        self, request: DescribeShareGroupOffsetsRequest, context: RequestContext, node: Node
    ) -> DescribeShareGroupOffsetsResponse:
        """Describe the offsets of groups."""
        return DescribeShareGroupOffsetsResponse(
            groups=tuple(self._describe(each, context, node) for each in request.groups)
        )

    def _describe(
        self, asked: DescribeShareGroupOffsetsRequestGroup, context: RequestContext, node: Node
    ) -> DescribeShareGroupOffsetsResponseGroup:
        group_id = asked.group_id
        row = DescribeShareGroupOffsetsResponseGroup(group_id=group_id)
        if not is_allowed(node, context, _DESCRIBE_GROUP, group_id):
            return row.replace(error_code=_DESCRIBE_GROUP.refusal.value)
        group = self._coordinator.find(group_id, ShareGroup)
        if asked.topics is None:
            known = {} if group is None else group.initialized
            topics = [
                (topic, range(count))
                for topic_id, count in known.items()
                if (topic := node.topics.by_id(topic_id)) is not None
            ]
            names = [topic.name for topic, _ in topics]
            allowed = allowed_names(node, context, _DESCRIBE_ALL, names)
            return row.replace(
                topics=tuple(
                    self._described(group, topic, numbers)
                    for topic, numbers in topics
                    if topic.name in allowed
                )
            )
        names = [each.topic_name for each in asked.topics]
        allowed = allowed_names(node, context, _DESCRIBE_NAMED, names)
        rows = []
        # As on a broker those that do not exist come behind the others, and the refused ones last.
        for each in asked.topics:
            found = node.topics.get(each.topic_name) if each.topic_name in allowed else None
            if found is not None:
                rows.append(self._described(group, found, each.partitions))
        for is_refused in (False, True):
            rows += [
                _without_offset(each.topic_name, each.partitions, is_refused=is_refused)
                for each in asked.topics
                if (each.topic_name not in allowed) is is_refused
                and (is_refused or node.topics.get(each.topic_name) is None)
            ]
        return row.replace(topics=tuple(rows))

    def _described(
        self, group: ShareGroup | None, topic: StoredTopic, numbers: Iterable[int]
    ) -> DescribeShareGroupOffsetsResponseTopic:
        rows = []
        for number in numbers:
            share = (
                None if group is None else group.partitions.get(Partition(topic.topic_id, number))
            )
            offset = None if share is None else share.stored_offset
            lag = -1
            if share is not None and offset is not None:
                end = self._records.log_of(topic, number).end_offset
                lag = min(max(end - share.start_offset - share.done, 0), _LONG_MAX)
            rows.append(
                DescribeShareGroupOffsetsResponsePartition(
                    partition_index=number, start_offset=-1 if offset is None else offset, lag=lag
                )
            )
        return DescribeShareGroupOffsetsResponseTopic(
            topic_name=topic.name, topic_id=topic.topic_id, partitions=tuple(rows)
        )

    # --- AlterShareGroupOffsets

    def alter(
        self, request: AlterShareGroupOffsetsRequest, context: RequestContext, node: Node
    ) -> AlterShareGroupOffsetsResponse:
        """Set from where a group without members reads; create it where it is missing.

        Raises:
            ApiError: see the module.
        """
        group_id = request.group_id
        if not is_allowed(node, context, _ALTER_GROUP, group_id):
            raise _failure(_ALTER_GROUP.refusal)
        names = [each.topic_name for each in request.topics]
        allowed = {name for name in names if is_allowed(node, context, _ALTER_TOPIC, name)}
        if not group_id:
            raise _failure(ErrorCode.INVALID_GROUP_ID)
        group = self._empty_group(group_id, node, creates=True)
        rows = tuple(self._altered(group, each, allowed, node) for each in request.topics)
        self._coordinator.update(group)
        return AlterShareGroupOffsetsResponse(responses=rows)

    def _altered(
        self,
        group: ShareGroup,
        asked: AlterShareGroupOffsetsRequestTopic,
        allowed: set[str],
        node: Node,
    ) -> AlterShareGroupOffsetsResponseTopic:
        topic = node.topics.get(asked.topic_name)
        rows = []
        for each in asked.partitions:
            code = ErrorCode.NONE
            if asked.topic_name not in allowed:
                code = _ALTER_TOPIC.refusal
            elif topic is None or not 0 <= each.partition_index < topic.partitions:
                code = _UNKNOWN
            else:
                partition = Partition(topic.topic_id, each.partition_index)
                share = self._create(group, partition, each.start_offset)
                share.stored_offset = each.start_offset
                group.initialized[topic.topic_id] = topic.partitions
            rows.append(
                AlterShareGroupOffsetsResponsePartition(
                    partition_index=each.partition_index,
                    error_code=code.value,
                    error_message=DEFAULT_MESSAGES.get(code) if code else None,
                )
            )
        return AlterShareGroupOffsetsResponseTopic(
            topic_name=asked.topic_name,
            topic_id=_NO_ID if topic is None else topic.topic_id,
            partitions=tuple(rows),
        )

    # --- DeleteShareGroupOffsets

    def delete(
        self, request: DeleteShareGroupOffsetsRequest, context: RequestContext, node: Node
    ) -> DeleteShareGroupOffsetsResponse:
        """Delete the offsets of topics of a group without members.

        Raises:
            ApiError: see the module.
        """
        group_id = request.group_id
        if not is_allowed(node, context, _DELETE_GROUP, group_id):
            raise _failure(_DELETE_GROUP.refusal)
        refused, asked = [], []
        for each in request.topics:
            if is_allowed(node, context, _DELETE_TOPIC, each.topic_name):
                asked.append(each.topic_name)
            else:
                refused.append(_deleted(each.topic_name, _DELETE_TOPIC.refusal))
        if not group_id:
            raise _failure(ErrorCode.INVALID_GROUP_ID)
        group = self._empty_group(group_id, node, creates=False)
        rows = []
        for name in asked:
            topic = node.topics.get(name)
            if topic is None:
                rows.append(_deleted(name, _UNKNOWN))
            elif topic.topic_id not in group.initialized:
                text = "There is no offset information to delete."
                rows.append(_deleted(name, _UNKNOWN, text))
            else:
                group.forget_topic(topic.topic_id)
                rows.append(_deleted(name, ErrorCode.NONE, None).replace(topic_id=topic.topic_id))
        return DeleteShareGroupOffsetsResponse(responses=(*refused, *rows))

    def _empty_group(self, group_id: str, node: Node, *, creates: bool) -> ShareGroup:
        group = self._coordinator.find(group_id, ShareGroup)
        if group is None:
            if group_id in node.groups:
                text = f"Group {group_id} is not a share group."
                raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, text)
            if not creates:
                text = f"Group {group_id} not found."
                raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, text)
            return self._coordinator.create(group_id, ShareGroup)
        if group.has_members:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP, "The group is not empty.")
        return group


def _failure(code: ErrorCode) -> ApiError:
    """Return an error with the text that a broker sends of it."""
    return ApiError(code, DEFAULT_MESSAGES.get(code))


def _without_offset(
    name: str, numbers: Iterable[int], *, is_refused: bool
) -> DescribeShareGroupOffsetsResponseTopic:
    code = _DESCRIBE_NAMED.refusal if is_refused else ErrorCode.NONE
    return DescribeShareGroupOffsetsResponseTopic(
        topic_name=name,
        partitions=tuple(
            DescribeShareGroupOffsetsResponsePartition(
                partition_index=number,
                start_offset=-1,
                error_code=code.value,
                error_message=DEFAULT_MESSAGES.get(code) if code else None,
            )
            for number in numbers
        ),
    )


def _deleted(
    name: str, code: ErrorCode, text: str | None = None
) -> DeleteShareGroupOffsetsResponseTopic:
    return DeleteShareGroupOffsetsResponseTopic(
        topic_name=name,
        error_code=code.value,
        error_message=DEFAULT_MESSAGES.get(code) if text is None else text,
    )


def _refuse_description(
    request: DescribeShareGroupOffsetsRequest, _version: int, error: BaseException
) -> Response:
    code, text = answer_of(error)
    rows = (
        DescribeShareGroupOffsetsResponseGroup(
            group_id=each.group_id, error_code=code.value, error_message=text
        )
        for each in request.groups
    )
    return DescribeShareGroupOffsetsResponse(groups=tuple(rows))
