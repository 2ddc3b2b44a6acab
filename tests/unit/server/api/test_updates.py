"""Updates of the APIs on a real node: what is stored and answered, and that plans run twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from doorkeeper.acls.model import Principal
from doorkeeper.server.api import (
    alter_client_quotas,
    alter_partition_reassignments,
    alter_user_scram_credentials,
    create_acls,
    create_delegation_token,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_topics,
    expire_delegation_token,
    incremental_alter_configs,
    metadata,
    offset_commit,
    offset_delete,
    renew_delegation_token,
)
from doorkeeper.server.api.node import Update
from doorkeeper.server.schema.change import SERVER
from doorkeeper_wire.messages import alter_client_quotas as quota_messages
from doorkeeper_wire.messages import alter_partition_reassignments as reassignment_messages
from doorkeeper_wire.messages import alter_user_scram_credentials as scram_messages
from doorkeeper_wire.messages import incremental_alter_configs as config_messages
from doorkeeper_wire.messages import offset_commit as commit_messages
from doorkeeper_wire.messages import offset_delete as deletion_messages
from doorkeeper_wire.messages.create_acls import AclCreation, CreateAclsRequest
from doorkeeper_wire.messages.create_delegation_token import CreateDelegationTokenRequest
from doorkeeper_wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from doorkeeper_wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from doorkeeper_wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from doorkeeper_wire.messages.delete_groups import DeleteGroupsRequest
from doorkeeper_wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from doorkeeper_wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from doorkeeper_wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from doorkeeper_wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from testkit.delegation_tokens import context_of
from testkit.nodes import a_group, on_the_wire
from testkit.plans import run_twice
from testkit.reconfigured import Running, running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from doorkeeper.server.api.declaration import Api
    from doorkeeper.server.state.state import State
    from doorkeeper.server.state.submissions import Plan

PROPERTIES = "super.users=User:admin\ndelegation.token.secret.key=secret\n"
ADMIN = Principal("User", "admin")


def topic_rows(response: Any) -> list[int]:
    return [row.error_code for row in response.topics]


def result_rows(response: Any) -> list[int]:
    return [row.error_code for row in response.results]


def partitions_in(response: Any) -> list[int]:
    return [row.error_code for topic in response.topics for row in topic.partitions]


class Node:
    """A server whose APIs are called; each plan runs twice."""

    def __init__(self, server: Running) -> None:
        self.assembly = server.assembly
        self.log = server.assembly.log
        self._submit = self.log.submit
        self.plans = 0

    def submit(self, plan: Plan[Any], *arguments: Any) -> Any:
        """Submit a plan that runs twice."""

        def twice(state: State) -> Any:
            self.plans += 1
            return run_twice(plan, state)

        return self._submit(twice, *arguments)

    async def change(self, api: Api, request: Any, version: int | None = None) -> Any:
        """Return the response to a request that changes something, as it arrives."""
        version = api.max_version if version is None else version
        request, _ = api.request.decode(request.encode(version), 0, version)
        context = context_of(api, version, ADMIN, protocol="SASL_SSL")
        context = replace(
            context, authorizable=context.authorizable._replace(listener_name="PLAINTEXT")
        )
        update = api.handle(request, context, self.assembly.node)
        assert isinstance(update, Update)
        result = await update.apply(self.assembly.edge.context.services)
        return on_the_wire(update.respond(result), version)


@pytest.fixture
async def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Node]:
    async with running(tmp_path, PROPERTIES) as server:
        # What the start has submitted is stored first.
        await server.assembly.log.submit(lambda _state: ({}, None), SERVER)
        found = Node(server)
        monkeypatch.setattr(found.log, "submit", found.submit)
        yield found


async def create_topic(node: Node, name: str = "a", partitions: int = 1) -> bytes:
    request = CreateTopicsRequest(
        topics=(CreatableTopic(name=name, num_partitions=partitions, replication_factor=1),),
        timeout_ms=9,
    )
    (row,) = (await node.change(create_topics.API, request)).topics
    assert row.error_code == 0
    topic_id: bytes = row.topic_id
    return topic_id


def committing(topic_id: bytes, *partitions: int, group_id: str = "g") -> Any:
    rows = tuple(
        commit_messages.OffsetCommitRequestPartition(
            partition_index=index, committed_offset=5, committed_metadata=""
        )
        for index in partitions
    )
    topic = commit_messages.OffsetCommitRequestTopic(topic_id=topic_id, partitions=rows)
    return commit_messages.OffsetCommitRequest(
        group_id=group_id, generation_id_or_member_epoch=-1, topics=(topic,)
    )


def deleting(topic: str, *partitions: int, group_id: str = "g") -> Any:
    rows = tuple(
        deletion_messages.OffsetDeleteRequestPartition(partition_index=index)
        for index in partitions
    )
    asked = deletion_messages.OffsetDeleteRequestTopic(name=topic, partitions=rows)
    return deletion_messages.OffsetDeleteRequest(group_id=group_id, topics=(asked,))


async def test_topics_are_created_changed_and_deleted(node: Node) -> None:
    topic_id = await create_topic(node)
    grow = CreatePartitionsRequest(
        topics=(CreatePartitionsTopic(name="a", count=3, assignments=None),), timeout_ms=9
    )
    assert result_rows(await node.change(create_partitions.API, grow)) == [0]
    assert result_rows(await node.change(create_partitions.API, grow)) == [37]
    partition = reassignment_messages.ReassignablePartition(partition_index=1, replicas=(1,))
    move = reassignment_messages.AlterPartitionReassignmentsRequest(
        topics=(reassignment_messages.ReassignableTopic(name="a", partitions=(partition,)),)
    )
    moved = await node.change(alter_partition_reassignments.API, move)
    assert [row.error_code for topic in moved.responses for row in topic.partitions] == [0]
    wanted = MetadataRequest(
        topics=(MetadataRequestTopic(name="m"),), allow_auto_topic_creation=True
    )
    assert topic_rows(await node.change(metadata.API, wanted)) == [3]
    assert node.assembly.node.topics.names() == ("a", "m")
    delete = DeleteTopicsRequest(topics=(DeleteTopicState(topic_id=topic_id),), timeout_ms=9)
    gone = await node.change(delete_topics.API, delete)
    assert [row.error_code for row in gone.responses] == [0]
    assert node.assembly.node.topics.names() == ("m",)
    assert node.plans == 6


async def test_offsets_and_groups_are_created_and_deleted(node: Node) -> None:
    topic_id = await create_topic(node, partitions=2)
    committed = await node.change(offset_commit.API, committing(topic_id, 0, 1))
    assert partitions_in(committed) == [0, 0]
    assert sorted(node.log.state.offsets.of_group("g")) == ["a-0", "a-1"]
    assert partitions_in(await node.change(offset_delete.API, deleting("a", 0, 1))) == [0, 0]
    assert list(node.log.state.offsets.of_group("g")) == [""]
    forget = DeleteGroupsRequest(groups_names=("g", "h"))
    assert result_rows(await node.change(delete_groups.API, forget)) == [0, 69]
    assert list(node.log.state.offsets) == []
    assert node.plans == 4


async def test_topic_deletion_removes_its_offsets(node: Node) -> None:
    first, second = await create_topic(node), await create_topic(node, "b")
    for topic_id in (first, second):
        await node.change(offset_commit.API, committing(topic_id, 0))
    revision = node.log.state.revision
    delete = DeleteTopicsRequest(topics=(DeleteTopicState(topic_id=first),), timeout_ms=9)

    await node.change(delete_topics.API, delete)

    assert list(node.log.state.offsets.of_group("g")) == ["b-0"]
    assert node.log.state.revision == revision + 1


async def test_groups_with_members_cannot_be_changed(node: Node) -> None:
    groups = {"g": a_group("g"), "idle": a_group("idle", "Empty", members=())}
    topic_id = await create_topic(node)
    node.log.amend(live_groups=groups)

    refused = await node.change(offset_commit.API, committing(topic_id, 0))
    taken = await node.change(offset_commit.API, committing(topic_id, 0, group_id="idle"))
    deleted = await node.change(delete_groups.API, DeleteGroupsRequest(groups_names=("g", "idle")))

    assert (partitions_in(refused), partitions_in(taken)) == ([25], [0])
    assert result_rows(deleted) == [68, 0]
    assert list(node.log.state.offsets) == []


async def test_users_and_quotas(node: Node) -> None:
    """A credential is set once and refused where there is none; a host that resolves has quotas."""
    alter = scram_messages.AlterUserScramCredentialsRequest(
        deletions=(scram_messages.ScramCredentialDeletion(name="zoe", mechanism=1),),
        upsertions=(
            scram_messages.ScramCredentialUpsertion(
                name="alice", mechanism=1, iterations=4096, salt=b"salt", salted_password=b"word"
            ),
        ),
    )
    assert result_rows(await node.change(alter_user_scram_credentials.API, alter)) == [91, 0]
    assert node.log.state.credentials.names() == ["alice"]
    entries = tuple(
        quota_messages.EntryData(
            entity=(quota_messages.EntityData(entity_type="ip", entity_name=name),),
            ops=(quota_messages.OpData(key="connection_creation_rate", value=5.0),),
        )
        for name in ("127.0.0.1", "localhost", "a b")
    )
    before = node.log.state.revision
    for validate_only, made in ((True, 0), (False, 1), (False, 1)):
        request = quota_messages.AlterClientQuotasRequest(
            entries=entries, validate_only=validate_only
        )
        response = await node.change(alter_client_quotas.API, request)
        assert [row.error_code for row in response.entries] == [0, 0, 42]
        text = "a b is not a valid IP or resolvable host."
        assert response.entries[2].error_message == text
        assert node.log.state.revision == before + made
    assert node.plans == 4


async def test_tokens(node: Node) -> None:
    """Issued, renewed, ended; the HMAC of the response is the one that is looked for."""
    issued = await node.change(create_delegation_token.API, CreateDelegationTokenRequest())
    assert issued.error_code == 0
    renew = RenewDelegationTokenRequest(hmac=issued.hmac, renew_period_ms=500)
    renewed = await node.change(renew_delegation_token.API, renew)
    assert renewed.expiry_timestamp_ms == issued.issue_timestamp_ms + 500
    end = ExpireDelegationTokenRequest(hmac=issued.hmac, expiry_time_period_ms=-1)
    ended = await node.change(expire_delegation_token.API, end)
    assert ended.expiry_timestamp_ms == issued.issue_timestamp_ms
    assert list(node.log.state.tokens) == []
    assert node.plans == 3


async def test_configurations(node: Node) -> None:
    """Of a broker, a topic, a group and a subscription; each has its own result."""
    await create_topic(node)
    resources = tuple(
        config_messages.AlterConfigsResource(
            resource_type=kind,
            resource_name=name,
            configs=(config_messages.AlterableConfig(name=key, config_operation=0, value=value),),
        )
        for kind, name, key, value in (
            (4, "1", "max.connections", "5"),
            (2, "a", "retention.ms", "5"),
            (2, "absent", "retention.ms", "5"),
            (32, "g", "consumer.session.timeout.ms", "50000"),
            (16, "m", "metrics", "*"),
        )
    )
    request = config_messages.IncrementalAlterConfigsRequest(resources=resources)

    response = await node.change(incremental_alter_configs.API, request)

    assert [row.error_code for row in response.responses] == [0, 0, 3, 0, 0]
    assert node.plans == 6


async def test_acls(node: Node) -> None:
    """Created with the ids that were drawn before the plan, and deleted."""
    creation = AclCreation(
        resource_type=2,
        resource_name="orders",
        resource_pattern_type=3,
        principal="User:alice",
        host="*",
        operation=3,
        permission_type=3,
    )
    before = node.log.state.revision
    for _ in range(2):
        created = await node.change(create_acls.API, CreateAclsRequest(creations=(creation,) * 2))
        assert result_rows(created) == [0, 0]
        assert node.log.state.revision == before + 1
    filters = tuple(
        DeleteAclsFilter(
            resource_type_filter=2,
            resource_name_filter=name,
            pattern_type_filter=1,
            principal_filter=None,
            host_filter=None,
            operation=1,
            permission_type=1,
        )
        for name in ("orders", "other", None)
    )
    deleted = await node.change(delete_acls.API, DeleteAclsRequest(filters=filters))
    assert [len(each.matching_acls) for each in deleted.filter_results] == [1, 0, 1]
    assert node.log.state.acls.count == 0
    assert node.plans == 3
