"""One of the two servers that are asked the same, with a connection for each user."""

import time
from collections.abc import Callable
from typing import Any

from doorkeeper_wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from doorkeeper_wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from doorkeeper_wire.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from doorkeeper_wire.messages.metadata import MetadataRequest, MetadataResponse
from testkit.frame_cases import (
    Step,
    create,
    creation,
    delete,
    delete_filter,
    describe,
    new_topic,
)
from testkit.frames import Closed, FrameClient, fields
from testkit.kafka_target import USERS, Target

BARRIER = "frames-barrier"

REACHED_S = 60
"""A broker on a busy machine may take its time to apply what it has acknowledged."""

OFFSETS = "__consumer_offsets"

OFFSETS_DECLARED = f"topics: [{{name: {OFFSETS}, partitions: 1}}]"
"""A broker makes this topic with its coordinator; it counts where answers are cut into pages."""


class Side:
    """One of the two servers, with a connection for each user."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._clients: dict[str | None, FrameClient] = {}

    def ask(self, step: Step) -> Any:
        """Send one step; after a change wait until it is in force. Return the answer's fields."""
        client = self._clients.get(step.user) or self._connect(step.user)
        answer = client.ask(step.request, step.response, step.version)
        if isinstance(answer, Closed):
            self._clients.pop(step.user).close()
            return "closed"
        if type(step.request).__name__.startswith(("Create", "Delete")):
            self._settle()
        return fields(answer)

    def clear(self) -> None:
        """Delete every ACL and every topic."""
        self._admin(delete(delete_filter()))
        self._settle()
        names = self._names()
        if names:
            removal = DeleteTopicsRequest(topic_names=names, timeout_ms=10000)
            self._admin(Step(None, removal, DeleteTopicsResponse, 4))
        self._wait(lambda: not self._names())

    def make(self, names: tuple[str, ...]) -> None:
        """Create topics and wait until they have leaders."""
        topics = tuple(new_topic(name, num_partitions=2) for name in names)
        request = CreateTopicsRequest(topics=topics, timeout_ms=10000)
        self._admin(Step(None, request, CreateTopicsResponse, 5))
        self._wait(lambda: self._ready(len(names)))

    def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            client.close()

    def _connect(self, user: str | None) -> FrameClient:
        client = FrameClient(self._target.plain if user is None else self._target.sasl)
        if user is not None:
            client.login(user, USERS[user])
        self._clients[user] = client
        return client

    def _admin(self, step: Step) -> Any:
        client = self._clients.get(None) or self._connect(None)
        return client.ask(step.request, step.response, step.version)

    def _metadata(self) -> Any:
        return self._admin(Step(None, MetadataRequest(topics=None), MetadataResponse, 9))

    def coordinator(self) -> None:
        """Wait until groups can be asked about."""
        request = FindCoordinatorRequest(key="any")
        self._wait(
            lambda: self._admin(Step(None, request, FindCoordinatorResponse, 2)).error_code == 0
        )

    def _names(self) -> tuple[str, ...]:
        names = (topic.name for topic in self._metadata().topics)
        return tuple(name for name in names if name != OFFSETS)

    def _ready(self, count: int) -> bool:
        topics = [topic for topic in self._metadata().topics if topic.name != OFFSETS]
        return len(topics) == count and all(
            len(topic.partitions) == 2 and all(p.leader_id >= 0 for p in topic.partitions)
            for topic in topics
        )

    def _settle(self) -> None:
        """Wait until all earlier changes are in force: changes are applied in order."""
        if not self._target.is_kafka:
            return
        mark = describe(resource_name_filter=BARRIER)
        self._admin(create(creation(resource_name=BARRIER)))
        self._wait(lambda: bool(self._admin(mark).resources))
        self._admin(delete(delete_filter(resource_name_filter=BARRIER)))
        self._wait(lambda: not self._admin(mark).resources)

    def _wait(self, reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + REACHED_S
        while time.monotonic() < deadline:
            if reached():
                return
        raise AssertionError("the server did not reach the state that the scenario needs")
