"""Sessions of share groups over real connections."""

from __future__ import annotations

from doorkeeper.testing import DoorkeeperServer
from doorkeeper_wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from doorkeeper_wire.messages.share_fetch import (
    FetchPartition,
    FetchTopic,
    ShareFetchRequest,
    ShareFetchResponse,
)
from doorkeeper_wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from testkit.frames import FrameClient

MEMBER = "AAAAAAAAAAAAAAAAAAAAAA"
NOT_FOUND = 122


def test_session_ends_with_its_connection() -> None:
    with DoorkeeperServer(topics=["orders"], records=True) as server:
        first, other = FrameClient(server.address()), FrameClient(server.address())
        topics = (MetadataRequestTopic(name="orders"),)
        (topic,) = first.ask(MetadataRequest(topics=topics), MetadataResponse, 12).topics
        asked = FetchTopic(topic_id=topic.topic_id, partitions=(FetchPartition(partition_index=0),))

        def fetched(client: FrameClient, epoch: int) -> int:
            request = ShareFetchRequest(
                group_id="g", member_id=MEMBER, share_session_epoch=epoch, topics=(asked,)
            )
            code: int = client.ask(request, ShareFetchResponse, 1).error_code
            return code

        joined = first.ask(
            ShareGroupHeartbeatRequest(
                group_id="g", member_id=MEMBER, member_epoch=0, subscribed_topic_names=("orders",)
            ),
            ShareGroupHeartbeatResponse,
            1,
        )
        opened, used = fetched(first, 0), fetched(other, 1)
        first.close()
        # The server may see the end of the first connection after the next request.
        epoch = 2
        while (after := fetched(other, epoch)) == 0:
            epoch += 1
        other.close()

    assert (joined.error_code, opened, used) == (0, 0, 0)
    assert after == NOT_FOUND
