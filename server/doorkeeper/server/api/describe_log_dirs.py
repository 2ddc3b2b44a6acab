"""DescribeLogDirs (35), versions 1-5: describes the folder of the node, and its partitions.

Needs DESCRIBE on the cluster; a caller without it gets an empty list, and 31 from version 3 on.

The folder is ``doorkeeper.data.dir``. Partitions of which the node is a replica are in it; null
asks for all of them. Without the test broker they have 0 bytes. Sizes of volumes are not known
(-1). Java clients take a response without a folder for a refusal.

    v2  flexible     v3  an error for the whole answer     v4  sizes of volumes
    v5  whether a folder takes new partitions

Source: ``handleDescribeLogDirsRequest`` of the broker 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import is_allowed, needs
from doorkeeper.server.api.records import LogOf, empty_log
from doorkeeper.server.config.store_keys import DATA_DIR
from doorkeeper.server.resources.topics.placement import Places
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

(_DESCRIBE,) = needs(DescribeLogDirsRequest.API_KEY)


def handle(
    request: DescribeLogDirsRequest,
    context: RequestContext,
    node: Node,
    *,
    log_of: LogOf = empty_log,
) -> DescribeLogDirsResponse:
    """Return the folder of this node."""
    if not is_allowed(node, context, _DESCRIBE):
        return DescribeLogDirsResponse(error_code=_DESCRIBE.refusal.value)
    places = Places(node.brokers(context.authorizable.listener_name))
    folder = DescribeLogDirsResult(
        log_dir=str(node.settings[DATA_DIR].absolute()),
        topics=tuple(_topics(request, node, places, log_of)),
    )
    return DescribeLogDirsResponse(results=(folder,))


def _topics(
    request: DescribeLogDirsRequest, node: Node, places: Places, log_of: LogOf
) -> Iterator[DescribeLogDirsTopic]:
    """Yield each topic once, with those of the requested partitions that are here."""
    indexes_of: dict[str, set[int] | None] = {}
    if request.topics is None:
        indexes_of = dict.fromkeys(node.topics.names())
    else:
        for asked in request.topics:
            indexes = indexes_of.setdefault(asked.topic, set())
            if indexes is not None:
                indexes.update(asked.partitions)
    for name, indexes in indexes_of.items():
        topic = node.topics.get(name)
        if topic is None:
            continue
        partitions = tuple(
            DescribeLogDirsPartition(
                partition_index=index, partition_size=log_of(topic, index).size
            )
            for index in range(topic.partitions)
            if (indexes is None or index in indexes)
            and node.node_id in places.of(topic, index).replicas
        )
        if partitions:
            yield DescribeLogDirsTopic(name=name, partitions=partitions)


API = declare(DescribeLogDirsRequest, handle, refuse_as(DescribeLogDirsResponse))
