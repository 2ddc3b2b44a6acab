"""Two servers that are asked the same: what differs in their answers, field by field.

What must differ is put aside before the comparison: names that servers make up (cluster, topic
ids), addresses, and the order of what a broker keeps in a hash table. What differs though it need
not stands in ``testkit.accepted``.
"""

import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from doorkeeper.acls.entities.model import TopicEntity
from doorkeeper_wire.message import Record
from doorkeeper_wire.messages import alter_user_scram_credentials as alter_scram
from doorkeeper_wire.messages import describe_client_quotas as describe_quotas
from doorkeeper_wire.messages import describe_user_scram_credentials as describe_scram
from doorkeeper_wire.messages import list_config_resources as list_resources
from doorkeeper_wire.messages import list_transactions
from doorkeeper_wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from doorkeeper_wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from doorkeeper_wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from doorkeeper_wire.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from doorkeeper_wire.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from doorkeeper_wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from doorkeeper_wire.messages.metadata import MetadataRequest, MetadataResponse
from testkit.frame_steps import (
    Step,
    ask_configs,
    create,
    creation,
    delete,
    delete_filter,
    describe,
    new_topic,
)
from testkit.frames import Closed, FrameClient, fields
from testkit.kafka_target import USERS, Target
from testkit.load import scaled

BARRIER = "frames-barrier"

REACHED_S = 60
"""A broker on a busy machine may take its time to apply what it has acknowledged."""

INTERNAL = ("__consumer_offsets", "__transaction_state")
"""Topics that a broker makes for its coordinators."""

INTERNAL_TOPICS = (
    TopicEntity(
        "__consumer_offsets",
        1,
        1,
        (
            ("cleanup.policy", "compact"),
            ("compression.type", "producer"),
            ("segment.bytes", "104857600"),
        ),
    ),
    TopicEntity(
        "__transaction_state",
        1,
        1,
        (
            ("cleanup.policy", "compact"),
            ("compression.type", "uncompressed"),
            ("min.insync.replicas", "2"),
            ("segment.bytes", "104857600"),
            ("unclean.leader.election.enable", "false"),
        ),
    ),
)
"""What our store begins with, so that we have them too: they count where answers are cut."""

MADE_UP = {
    "cluster_id": "<cluster>",
    "host": "<host>",
    "port": "<port>",
    "log_dir": "<folder>",
    # What is known of the volume of a folder.
    "total_bytes": "<bytes>",
    "usable_bytes": "<bytes>",
}

CHANGES = ("Create", "Delete", "Alter", "Incremental")
"""Beginnings of the requests that may change what a later one is answered."""

SETS = (
    "resources",
    "subscribed_topic_names",
    "acls",
    "matching_acls",
    "brokers",
    "groups",
    "configs",
    "synonyms",
    "topics",
    "responses",
    "results_by_topic_v3_and_below",
    "credential_infos",
    "entries",
    "values",
    "replica_election_results",
    "unknown_state_filters",
)
"""Fields whose order a broker leaves open."""

KEPT = (
    Step(
        None,
        list_resources.ListConfigResourcesRequest(resource_types=(16, 32)),
        list_resources.ListConfigResourcesResponse,
        1,
    ),
    ask_configs(4, 4, "1", None),
    ask_configs(4, 4, "", None),
    Step(
        None,
        describe_quotas.DescribeClientQuotasRequest(components=()),
        describe_quotas.DescribeClientQuotasResponse,
        1,
    ),
)
"""Questions about what ``clear`` does not clear: keys of resources, of brokers, and quotas.

A scenario leaves it as it was, so that the others may run in any order.
"""

FORGETFUL: Mapping[str, str] = {
    "transactional_id_expiration_ms": "1000",
    "transaction_remove_expired_transaction_cleanup_interval_ms": "20",
}
"""Keys of a broker that forgets transactional ids, which no request deletes.

Not at once: an id that it drops while it makes it is answered with 51 (CONCURRENT_TRANSACTIONS).
"""

NO_ID = bytes(16)

NEWEST = 12
"""The version of Metadata that tells the ids of topics."""


def id_of(name: str) -> bytes:
    """Return what stands in a request for the id that a server gave to a topic."""
    return b"\xee" + name.encode()[:15].ljust(15, b"\0")


class Side:
    """One of the two servers, with a connection for each user."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.ids: dict[bytes, bytes] = {}
        self._clients: dict[str | None, FrameClient] = {}

    def ask(self, step: Step) -> Any:
        """Send one step; after a change wait until it is in force."""
        answer = self._client(step.user).ask(
            replaced(step.request, self.ids), step.response, step.version
        )
        if isinstance(answer, Closed):
            return "closed"
        seen = fields(answer)
        if changed(step, seen):
            self.settle()
            self._settle_topics(step, seen)
        return normal(seen, names={given: made for made, given in self.ids.items()})

    def clear(self) -> None:
        """Delete every ACL, every topic, every user and every group.

        A transactional id that is left is waited for: the broker has to be ``FORGETFUL``.
        """
        self._admin(delete(delete_filter()))
        self._clear_users()
        self._clear_groups()
        self.settle()
        names = self._names()
        if names:
            removal = DeleteTopicsRequest(topic_names=names, timeout_ms=10000)
            self._admin(Step(None, removal, DeleteTopicsResponse, 4))
        self._wait(lambda: not self._names())
        self._wait(lambda: not self._transactional_ids())
        self.ids = {}

    def kept(self) -> set[str]:
        """Return what ``KEPT`` asks for: each row as text."""
        answers = (normal(fields(self._admin(step))) for step in KEPT)
        return {
            f"{name}: {each}"
            for answer in answers
            for name in ("config_resources", "results", "entries")
            for row in answer.get(name) or ()
            for each in row.get("configs", (row,))
        }

    def _clear_users(self) -> None:
        """Delete every SCRAM credential; a request may name a user once."""
        everyone = describe_scram.DescribeUserScramCredentialsRequest(users=None)
        asked = Step(None, everyone, describe_scram.DescribeUserScramCredentialsResponse, 0)
        while users := self._admin(asked).results:
            deletions = tuple(
                alter_scram.ScramCredentialDeletion(
                    name=each.user, mechanism=each.credential_infos[0].mechanism
                )
                for each in users
            )
            removal = alter_scram.AlterUserScramCredentialsRequest(deletions=deletions)
            self._admin(Step(None, removal, alter_scram.AlterUserScramCredentialsResponse, 0))
            self.settle()

    def _clear_groups(self) -> None:
        """Delete every group; while a broker has no coordinator there is none."""
        groups = self._admin(Step(None, ListGroupsRequest(), ListGroupsResponse, 4)).groups
        if groups:
            removal = DeleteGroupsRequest(groups_names=tuple(each.group_id for each in groups))
            self._admin(Step(None, removal, DeleteGroupsResponse, 2))

    def make(self, names: tuple[str, ...]) -> None:
        """Create topics and wait until they have leaders."""
        topics = tuple(new_topic(name, num_partitions=2) for name in names)
        request = CreateTopicsRequest(topics=topics, timeout_ms=10000)
        self._admin(Step(None, request, CreateTopicsResponse, 5))
        self._wait(lambda: set(names) <= set(self._ready()))
        self._learn_ids()

    def until_topics_are(self, names: set[str]) -> None:
        """Wait until there are these topics and no others."""
        self._wait(lambda: set(self._names()) == names)

    def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            client.close()

    def coordinator(self) -> None:
        """Wait until groups and transactions can be asked about."""
        for kind in (0, 1):
            request = FindCoordinatorRequest(key="any", key_type=kind)
            step = Step(None, request, FindCoordinatorResponse, 2)
            self._wait(partial(self._found, step))
        # A broker fetches a block of ids when it is first asked for one, and answers 14 until then.
        producer = InitProducerIdRequest(transactional_id=None)
        self._wait(partial(self._found, Step(None, producer, InitProducerIdResponse, 1)))

    def _found(self, step: Step) -> bool:
        return bool(self._admin(step).error_code == 0)

    def settle(self) -> None:
        """Wait until all earlier changes of ACLs are in force: they are applied in order."""
        if not self.target.is_kafka:
            return
        mark = describe(resource_name_filter=BARRIER)
        if self._admin(create(creation(resource_name=BARRIER))).results[0].error_code:
            return  # There is no authorizer.
        self._wait(lambda: bool(self._admin(mark).resources))
        self._admin(delete(delete_filter(resource_name_filter=BARRIER)))
        self._wait(lambda: not self._admin(mark).resources)

    def _settle_topics(self, step: Step, seen: Any) -> None:
        """Wait until topics that were made have leaders, and those deleted are gone."""
        rows = seen.get("topics", ()) if isinstance(step.request, CreateTopicsRequest) else ()
        if not getattr(step.request, "validate_only", False):
            made = {row["name"] for row in rows if row["error_code"] == 0}
            self._wait(lambda: made <= set(self._ready()))
        if isinstance(step.request, DeleteTopicsRequest):
            gone = {row["name"] for row in seen["responses"] if row["error_code"] == 0}
            self._wait(lambda: not gone & set(self._names()))
        self._learn_ids()

    def _learn_ids(self) -> None:
        """Note the ids of the topics; a topic that is gone keeps its id here."""
        for topic in self._metadata().topics:
            self.ids[id_of(topic.name)] = topic.topic_id

    def _client(self, user: str | None) -> FrameClient:
        """Return a user's connection, another one where the server has closed the last."""
        client = self._clients.get(user)
        if client is not None:
            if client.is_open():
                return client
            client.close()
        client = FrameClient(self.target.plain if user is None else self.target.sasl)
        if user is not None:
            client.login(user, USERS[user])
        self._clients[user] = client
        return client

    def _admin(self, step: Step) -> Any:
        return self._client(None).ask(step.request, step.response, step.version)

    def _metadata(self) -> Any:
        return self._admin(Step(None, MetadataRequest(topics=None), MetadataResponse, NEWEST))

    def _transactional_ids(self) -> tuple[Any, ...]:
        request = list_transactions.ListTransactionsRequest()
        step = Step(None, request, list_transactions.ListTransactionsResponse, 0)
        return tuple(self._admin(step).transaction_states)

    def _names(self) -> tuple[str, ...]:
        names = (topic.name for topic in self._metadata().topics)
        return tuple(name for name in names if name not in INTERNAL)

    def _ready(self) -> tuple[str, ...]:
        return tuple(
            topic.name
            for topic in self._metadata().topics
            if topic.partitions and all(part.leader_id >= 0 for part in topic.partitions)
        )

    def _wait(self, reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + scaled(REACHED_S)
        while time.monotonic() < deadline:
            if reached():
                return
        raise AssertionError("the server did not reach the state that the scenario needs")


def changed(step: Step, seen: Any) -> bool:
    """Say whether a step may have changed something: one of its rows succeeded."""
    rows = [
        row
        for name in ("results", "filter_results", "topics", "responses", "entries")
        for row in seen.get(name) or ()
    ]
    kind = type(step.request).__name__
    return kind.startswith(CHANGES) and any(row.get("error_code") == 0 for row in rows)


def replaced(value: Any, ids: Mapping[bytes, bytes]) -> Any:
    """Return a message with the ids that this server knows."""
    if isinstance(value, bytes):
        return ids.get(value, value)
    if isinstance(value, tuple):
        return tuple(replaced(part, ids) for part in value)
    if isinstance(value, Record):
        return value.replace(
            **{name: replaced(getattr(value, name), ids) for name in value.__struct_fields__}
        )
    return value


ADDRESS = re.compile(r"localhost:\d+")


def normal(value: Any, name: str = "", *, names: Mapping[bytes, bytes] | None = None) -> Any:
    """Return the value without what servers make up, sets in one order."""
    if isinstance(value, dict):
        return {
            key: MADE_UP.get(key) if part and key in MADE_UP else normal(part, key, names=names)
            for key, part in value.items()
        }
    if isinstance(value, list):
        parts = [normal(part, names=names) for part in value]
        return sorted(parts, key=repr) if name in SETS or _of_a_hash_table(parts) else parts
    if isinstance(value, str):
        return ADDRESS.sub("<address>", value)
    if name == "topic_id" and isinstance(value, bytes) and value != NO_ID:
        return (names or {}).get(value, b"<id>")
    return value


_OF_A_TOPIC = {"name", "error_code", "error_message"}
_OF_A_GROUP = {"group_id", "error_code"}
_OF_AN_ASSIGNMENT = {"topic_id", "partitions"}


def _of_a_hash_table(rows: list[Any]) -> bool:
    """Say whether a broker leaves the order of rows open.

    They are of users, replicas in a folder, groups, members of newer groups and their topics, or
    topics that get partitions.
    """
    if not rows or not isinstance(rows[0], dict):
        return False
    fields = rows[0].keys() - {"unknown_tags", "topic_name"}
    return not fields.isdisjoint(("user", "offset_lag", "member_epoch")) or fields in (
        _OF_A_TOPIC,
        _OF_A_GROUP,
        _OF_AN_ASSIGNMENT,
    )


def unequal(path: str, expected: Any, found: Any) -> list[str]:
    """Return a line for each place where the two differ."""
    if expected == found:
        return []
    if isinstance(expected, dict) and isinstance(found, dict) and expected.keys() == found.keys():
        return [
            line
            for key, part in expected.items()
            for line in unequal(f"{path}.{key}", part, found[key])
        ]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [
            line
            for number, part in enumerate(expected)
            for line in unequal(f"{path}[{number}]", part, found[number])
        ]
    return [f"  {path}: kafka has {expected}", f"  {path}: we have  {found}"]
