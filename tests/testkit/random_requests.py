"""Requests at random: every API and version that is served, with values good and odd.

A sequence of them shares one state: topics and ACLs that earlier requests made. All comes from one
seed, so that a difference can be played again.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

from doorkeeper_wire.messages import (
    api_versions,
    create_acls,
    create_delegation_token,
    create_topics,
    delete_acls,
    delete_topics,
    describe_acls,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_topic_partitions,
    find_coordinator,
    list_groups,
    metadata,
    sasl_authenticate,
    sasl_handshake,
)
from testkit.credential_cases import RandomCredentials, told_users
from testkit.frame_steps import Step, make_topics, new_topic
from testkit.random_alterations import RandomAlterations, told
from testkit.side_by_side import INTERNAL, id_of
from testkit.token_requests import RandomTokens

USERS = ("alice", "alice", "bob", "bob", "admin", None)
TOPICS = ("t-one", "t-two", "t-1", "a", "absent", "T-ONE")
ODD_NAMES = ("", "*", "bad name!", ".", "x" * 249, "x" * 250, "\u00e9", *INTERNAL)
GROUPS = ("g-one", "g-two", "", "*", "g \u00e9", "t-one")
RESOURCES = ("t-one", "t-", "t", "t-two", "*", "g-one", "g-", "kafka-cluster", "a", "")
PRINCIPALS = ("User:alice", "User:bob", "User:*", "User:ALICE", "Group:alice", "User:alice ")
ODD_PRINCIPALS = ("", "alice", ":", "User:", ":alice", "User:*:")
HOSTS = (
    *("*", "*", "127.0.0.1", "0:0:0:0:0:0:0:1", "10.0.0.1", "", "::1"),
    *("127.0.0.0/8", "127.0.0.1/32", "::/0", "10.0.0.0/8", "10.0.0.0/33", "::ffff:127.0.0.0/104"),
)
CONFIGS = ("cleanup.policy", "retention.ms", "min.insync.replicas", "no.such.key", "segment.bytes")
VALUES = ("compact", "delete", "1", "-1", "1000", "soon", "", None, "compact,delete", "9" * 30)


class RandomRequests:
    """One stream of steps."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._to_tell: list[Step] = []
        alterations = RandomAlterations(self._chance, self._deletable)
        credentials = RandomCredentials(self._chance)
        tokens = RandomTokens(self._chance)
        self._makers: Sequence[Callable[[], tuple[Any, Any, int, int]]] = (
            *(self._create_acls, self._create_acls, self._delete_acls),
            *(self._describe_acls, self._describe_acls),
            *(self._create_topics, self._delete_topics),
            *(self._metadata, self._metadata, self._metadata),
            *(self._describe_topic_partitions, self._describe_topic_partitions),
            *(self._describe_cluster, self._describe_groups, self._list_groups),
            *(self._find_coordinator, self._describe_configs),
            *(self._api_versions, self._sasl),
            *(alterations.incremental, alterations.incremental, alterations.replacing),
            *(tokens.create, tokens.renew, tokens.expire, tokens.describe),
            *(credentials.alter, credentials.alter, credentials.describe, credentials.quotas),
        )

    def world(self) -> tuple[Step, ...]:
        """Return what every sequence begins with: two topics, and ACLs for alice and bob."""
        rows = tuple(self._creation(0.0) for _ in range(self._chance.randint(0, 12)))
        return (
            make_topics(new_topic("t-one", num_partitions=2), new_topic("t-two"), version=5),
            Step(
                None,
                create_acls.CreateAclsRequest(creations=rows),
                create_acls.CreateAclsResponse,
                3,
            ),
        )

    def masks(self) -> tuple[Step, ...]:
        """Return a world of ACLs, and what asks for the operations of each user in it."""
        rows = tuple(self._creation(0.0) for _ in range(self._chance.randint(5, 60)))
        created = create_acls.CreateAclsRequest(creations=rows)
        topics = (new_topic("t-one", num_partitions=2), new_topic("t-two"), new_topic("a"))
        asked = tuple(
            Step(user, fitting(request, version), response, version)
            for user in ("alice", "bob", None)
            for make in (
                self._metadata,
                self._describe_cluster,
                self._describe_groups,
                self._describe_topic_partitions,
            )
            for request, response, lowest, highest in (make(), make())
            for version in range(lowest, highest + 1)
        )
        begin = Step(None, created, create_acls.CreateAclsResponse, 3)
        return (make_topics(*topics, version=5), begin, *map(_telling, asked))

    def step(self) -> Step:
        """Return the next request; after a change of settings or users what asks for them."""
        if self._to_tell:
            return self._to_tell.pop()
        request, response, lowest, highest = self._chance.choice(self._makers)()
        version = self._chance.choice((lowest, highest, self._chance.randint(lowest, highest)))
        self._to_tell.extend((*told(request), *told_users(request)))
        return Step(self._chance.choice(USERS), fitting(request, version), response, version)

    def _maybe(self, probability: float) -> bool:
        return self._chance.random() < probability

    def _flag(self) -> bool:
        return self._maybe(0.5)

    def _some(self, make: Callable[[], Any], most: int = 4) -> tuple[Any, ...]:
        """Return a few, none now and then, the same one twice now and then."""
        found = [make() for _ in range(self._chance.randint(0, most))]
        if found and self._maybe(0.2):
            found.append(self._chance.choice(found))
        return tuple(found)

    def _topic(self) -> str:
        return self._chance.choice(ODD_NAMES if self._maybe(0.2) else TOPICS)

    def _code(self, good: Sequence[int], odd: float) -> int:
        """Return a code: one that means something, one that does not, and rarely 0."""
        if self._maybe(odd):
            return self._chance.choice((-128, -1, 1, 2, 3, 8, 9, 14, 15, 16, 99, 127, 0))
        return self._chance.choice(good)

    def _creation(self, odd: float) -> create_acls.AclCreation:
        principals = ODD_PRINCIPALS if self._maybe(odd) else PRINCIPALS
        kind = self._code(range(2, 8), odd / 2)
        cluster = kind == 4 and not self._maybe(odd)
        return create_acls.AclCreation(
            resource_type=kind,
            resource_name="kafka-cluster" if cluster else self._chance.choice(RESOURCES[:-1]),
            resource_pattern_type=self._code((3, 3, 4), odd / 2),
            principal=self._chance.choice(principals),
            host=self._chance.choice(HOSTS),
            operation=self._code(range(2, 16), odd / 2),
            permission_type=self._code((2, 3, 3, 3), odd / 2),
        )

    def _filter(self) -> dict[str, Any]:
        nothing = None
        return {
            "resource_type_filter": self._code((1, 1, 2, 3, 4, 5), 0.1),
            "resource_name_filter": self._chance.choice((nothing, nothing, *RESOURCES)),
            "pattern_type_filter": self._code((1, 2, 3, 4), 0.1),
            "principal_filter": self._chance.choice((nothing, nothing, *PRINCIPALS, "", "x")),
            "host_filter": self._chance.choice((nothing, nothing, nothing, *HOSTS)),
            "operation": self._code((1, 1, 1, 2, 3, 4, 8), 0.1),
            "permission_type": self._code((1, 1, 2, 3), 0.1),
        }

    def _create_acls(self) -> tuple[Any, Any, int, int]:
        odd = self._chance.choice((0.0, 0.0, 0.1, 0.4))
        rows = self._some(lambda: self._creation(odd))
        return create_acls.CreateAclsRequest(creations=rows), create_acls.CreateAclsResponse, 1, 3

    def _delete_acls(self) -> tuple[Any, Any, int, int]:
        filters = self._some(lambda: delete_acls.DeleteAclsFilter(**self._filter()), 3)
        return delete_acls.DeleteAclsRequest(filters=filters), delete_acls.DeleteAclsResponse, 1, 3

    def _describe_acls(self) -> tuple[Any, Any, int, int]:
        request = describe_acls.DescribeAclsRequest(**self._filter())
        return request, describe_acls.DescribeAclsResponse, 1, 3

    def _create_topics(self) -> tuple[Any, Any, int, int]:
        request = create_topics.CreateTopicsRequest(
            topics=self._some(self._new_topic, 3),
            timeout_ms=self._timeout_ms(),
            validate_only=self._flag(),
        )
        return request, create_topics.CreateTopicsResponse, 2, 7

    def _timeout_ms(self) -> int:
        return self._chance.choice((0, -1)) if self._maybe(0.15) else 10000

    def _new_topic(self) -> create_topics.CreatableTopic:
        def config() -> create_topics.CreatableTopicConfig:
            return create_topics.CreatableTopicConfig(
                name=self._chance.choice(CONFIGS), value=self._chance.choice(VALUES)
            )

        def assignment() -> create_topics.CreatableReplicaAssignment:
            brokers = self._chance.choice(((1,), (1,), (), (1, 1), (7,), (-1,)))
            return create_topics.CreatableReplicaAssignment(
                partition_index=self._chance.choice((0, 0, 1, 2, -1)), broker_ids=brokers
            )

        by_hand = self._maybe(0.15)
        return new_topic(
            self._topic(),
            num_partitions=-1 if by_hand else self._chance.choice((1, 1, 2, 3, -1, 0, -2)),
            replication_factor=-1 if by_hand else self._chance.choice((1, 1, 1, -1, 0, 2, -2)),
            configs=self._some(config, 2) if self._maybe(0.3) else (),
            assignments=self._some(assignment, 2) if by_hand else (),
        )

    def _delete_topics(self) -> tuple[Any, Any, int, int]:
        def state() -> delete_topics.DeleteTopicState:
            if self._maybe(0.3):
                return delete_topics.DeleteTopicState(name=None, topic_id=self._id())
            return delete_topics.DeleteTopicState(name=self._deletable())

        request = delete_topics.DeleteTopicsRequest(
            topics=self._some(state, 3),
            topic_names=self._some(self._deletable, 3),
            timeout_ms=self._timeout_ms(),
        )
        return request, delete_topics.DeleteTopicsResponse, 1, 6

    def _deletable(self) -> str:
        """Return a name, but not that of a broker's own topics: they stay as they are."""
        name = self._topic()
        return "t-one" if name in INTERNAL else name

    def _id(self) -> bytes:
        return self._chance.choice((id_of("t-one"), id_of("t-two"), b"\1" * 16, bytes(16)))

    def _metadata(self) -> tuple[Any, Any, int, int]:
        def topic() -> metadata.MetadataRequestTopic:
            if self._maybe(0.15):
                return metadata.MetadataRequestTopic(
                    topic_id=self._id(), name=self._topic() if self._maybe(0.2) else None
                )
            return metadata.MetadataRequestTopic(name=self._topic())

        request = metadata.MetadataRequest(
            topics=None if self._maybe(0.2) else self._some(topic),
            allow_auto_topic_creation=self._flag(),
            include_cluster_authorized_operations=self._flag(),
            include_topic_authorized_operations=self._flag(),
        )
        return request, metadata.MetadataResponse, 0, 13

    def _describe_topic_partitions(self) -> tuple[Any, Any, int, int]:
        kind = describe_topic_partitions
        cursor = None
        if self._maybe(0.3):
            cursor = kind.Cursor(
                topic_name=self._topic(), partition_index=self._chance.choice((0, 0, 1, 2, -1, 9))
            )
        request = kind.DescribeTopicPartitionsRequest(
            topics=self._some(lambda: kind.TopicRequest(name=self._topic())),
            response_partition_limit=self._chance.choice((2000, 2000, 1, 2, 3, 0, -1)),
            cursor=cursor,
        )
        return request, kind.DescribeTopicPartitionsResponse, 0, 0

    def _describe_cluster(self) -> tuple[Any, Any, int, int]:
        request = describe_cluster.DescribeClusterRequest(
            include_cluster_authorized_operations=self._flag(),
            endpoint_type=self._chance.choice((1, 1, 1, 2, 0, 3, -1)),
            include_fenced_brokers=self._flag(),
        )
        return request, describe_cluster.DescribeClusterResponse, 0, 2

    def _describe_groups(self) -> tuple[Any, Any, int, int]:
        request = describe_groups.DescribeGroupsRequest(
            groups=self._some(lambda: self._chance.choice(GROUPS)),
            include_authorized_operations=self._flag(),
        )
        return request, describe_groups.DescribeGroupsResponse, 0, 6

    def _list_groups(self) -> tuple[Any, Any, int, int]:
        words = ("Stable", "Empty", "Dead", "nonsense", "", "stable")
        kinds = ("classic", "consumer", "share", "nonsense", "", "Classic")
        request = list_groups.ListGroupsRequest(
            states_filter=self._some(lambda: self._chance.choice(words), 2),
            types_filter=self._some(lambda: self._chance.choice(kinds), 2),
        )
        return request, list_groups.ListGroupsResponse, 0, 5

    def _find_coordinator(self) -> tuple[Any, Any, int, int]:
        request = find_coordinator.FindCoordinatorRequest(
            key=self._chance.choice(GROUPS),
            key_type=self._chance.choice((0, 0, 1, 2, 3, -1)),
            coordinator_keys=self._some(lambda: self._chance.choice(GROUPS)),
        )
        return request, find_coordinator.FindCoordinatorResponse, 0, 6

    def _describe_configs(self) -> tuple[Any, Any, int, int]:
        def resource() -> describe_configs.DescribeConfigsResource:
            kind = self._chance.choice((2, 2, 2, 4, 8, 16, 32, 1, 0, 3, 99, -1))
            names = {2: self._topic(), 4: "1", 8: "1", 16: "none", 32: "g-one"}
            odd = self._maybe(0.2)
            return describe_configs.DescribeConfigsResource(
                resource_type=kind,
                resource_name=self._chance.choice(("", "7", "x")) if odd else names.get(kind, "x"),
                configuration_keys=self._some(lambda: self._chance.choice(CONFIGS), 2),
            )

        request = describe_configs.DescribeConfigsRequest(
            resources=self._some(resource, 3), include_synonyms=self._flag()
        )
        return request, describe_configs.DescribeConfigsResponse, 1, 4

    def _api_versions(self) -> tuple[Any, Any, int, int]:
        words = ("a", "a.b-c", "1.0", "", "a b", "-a", "\u00e9")
        request = api_versions.ApiVersionsRequest(
            client_software_name=self._chance.choice(words),
            client_software_version=self._chance.choice(words),
        )
        return request, api_versions.ApiVersionsResponse, 0, 4

    def _sasl(self) -> tuple[Any, Any, int, int]:
        if self._flag():
            request = sasl_handshake.SaslHandshakeRequest(mechanism="PLAIN")
            return request, sasl_handshake.SaslHandshakeResponse, 0, 1
        token = sasl_authenticate.SaslAuthenticateRequest(auth_bytes=b"x")
        return token, sasl_authenticate.SaslAuthenticateResponse, 0, 2


def _telling(step: Step) -> Step:
    """Return the step with every flag that asks for operations, where its version has one."""
    changes = {name: True for name in step.request.__struct_fields__ if name.endswith("operations")}
    return step._replace(request=fitting(step.request.replace(**changes), step.version))


def fitting(request: Any, version: int) -> Any:
    """Return the request without what this version cannot carry."""
    if isinstance(request, metadata.MetadataRequest):
        return _fitting_metadata(request, version)
    if isinstance(request, find_coordinator.FindCoordinatorRequest):
        if version == 0:
            request = request.replace(key_type=0)
        return request.replace(coordinator_keys=()) if version < 4 else request.replace(key="")
    if isinstance(request, delete_topics.DeleteTopicsRequest):
        return request.replace(topics=()) if version < 6 else request.replace(topic_names=())
    if isinstance(request, create_delegation_token.CreateDelegationTokenRequest) and version < 3:
        return request.replace(owner_principal_type="", owner_principal_name="")
    changes: dict[str, Any] = {}
    if isinstance(request, list_groups.ListGroupsRequest):
        changes = {"states_filter": ()} if version < 4 else {}
        changes |= {"types_filter": ()} if version < 5 else {}
    if isinstance(request, describe_groups.DescribeGroupsRequest) and version < 3:
        changes = {"include_authorized_operations": False}
    if isinstance(request, describe_cluster.DescribeClusterRequest):
        changes = {"endpoint_type": 1} if version < 1 else {}
        changes |= {"include_fenced_brokers": False} if version < 2 else {}
    return request.replace(**changes)


def _fitting_metadata(request: metadata.MetadataRequest, version: int) -> metadata.MetadataRequest:
    topics = request.topics
    if topics is None and version == 0:
        topics = ()
    if topics is not None and version < 10:
        topics = tuple(
            topic.replace(topic_id=bytes(16), name=topic.name or "a") for topic in topics
        )
    changes: dict[str, Any] = {"topics": topics}
    if version < 4:
        changes["allow_auto_topic_creation"] = True
    if version < 8:
        changes["include_topic_authorized_operations"] = False
    if not 8 <= version <= 10:
        changes["include_cluster_authorized_operations"] = False
    return request.replace(**changes)
