"""A principal of a real cluster polls its access while a Doorkeeper changes the ACLs in pieces.

``--cluster-rounds`` makes it shorter.
"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
from contextlib import closing
from typing import TYPE_CHECKING, Final

import pytest

from doorkeeper.acls.decision import Policy, Question
from doorkeeper.acls.model import AclOperation, PatternType, ResourceType
from doorkeeper.client.admin import AdminClient
from doorkeeper.client.config import ClientConfig, address_of
from doorkeeper.client.connection import ClientConnection
from doorkeeper.client.logins import Password
from doorkeeper.server.state.storage.database import connect_readonly
from doorkeeper.server.state.storage.files import DATABASE_NAME
from doorkeeper.testing import DoorkeeperProcess
from doorkeeper_wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from testkit import reference
from testkit.acl import READ, allow, deny, topic
from testkit.kafka_broker import free_port
from testkit.kafka_cluster import KafkaCluster
from testkit.or_skip import or_skip
from testkit.synchronized import cluster, eventually, status_at, store_id_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from doorkeeper.acls.model import AclBinding

CHANGES: Final = 200
SESSION: Final = 20
"""The changes of a server; then it is killed in the middle of one, and goes on."""
POLL_S: Final = 0.02
SEED: Final = 20261128
TOPICS: Final = ("pay-in", "pay-out", "hr")
MALLORY: Final = Password("PLAIN", "mallory", "mallory-secret")
ACLS: Final = [
    make(principal, READ, pattern, host)
    for make in (allow, deny)
    for principal in ("*", "mallory", "alice")
    for pattern in (topic("pay-in"), topic("pay-", PatternType.PREFIXED), topic("*"), topic("hr"))
    for host in ("*", "127.0.0.1")
]
SLOWLY: Final = {"batch": 1, "rate": 25, "max.removals": 1_000, "max.removals.share": 100}


class Poll:
    """What mallory may read, asked every 20 ms, and what the states in question allow."""

    def __init__(self, policy: Policy, address: str) -> None:
        self._policy = policy
        self._address = address
        self._limit: frozenset[str] = frozenset()
        self.polls = 0
        self.faults: list[str] = []

    def allowed(self, acls: Iterable[AclBinding]) -> frozenset[str]:
        """Return the topics that these ACLs allow to read."""
        found = list(acls)
        questions = {
            name: Question("User:mallory", "127.0.0.1", READ, ResourceType.TOPIC, name)
            for name in TOPICS
        }
        return frozenset(
            name
            for name, question in questions.items()
            if reference.decide(self._policy, found, question).allowed
        )

    def widen(self, acls: Iterable[AclBinding]) -> None:
        self._limit |= self.allowed(acls)

    def settle(self, acls: Iterable[AclBinding]) -> None:
        self._limit = self.allowed(acls)

    async def run(self) -> None:
        config = ClientConfig(bootstrap=self._address, login=MALLORY)
        connection = await ClientConnection.connect(address_of(self._address), config)
        request = MetadataRequest(
            topics=tuple(MetadataRequestTopic(name=each) for each in TOPICS),
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=True,
        )
        try:
            while True:
                before = self._limit
                answer = await connection.call(request, MetadataResponse)
                readable = {
                    str(each.name)
                    for each in answer.topics
                    if not each.error_code
                    and each.topic_authorized_operations >> AclOperation.READ & 1
                }
                if more := readable - before - self._limit:
                    self.faults.append(f"poll {self.polls}: {more}")
                self.polls += 1
                await asyncio.sleep(POLL_S)
        finally:
            await connection.close()


async def create_topics(address: str) -> None:
    """Let the broker create the topics."""
    request = MetadataRequest(topics=tuple(MetadataRequestTopic(name=each) for each in TOPICS))
    async with AdminClient(ClientConfig(bootstrap=address)) as admin:
        async with asyncio.timeout(120):
            while True:
                answer = await admin.call(request, MetadataResponse)
                if not any(each.error_code for each in answer.topics):
                    return
                await asyncio.sleep(0.2)


def change(
    server: DoorkeeperProcess, desired: set[AclBinding], chance: random.Random, poll: Poll
) -> set[AclBinding]:
    """Add or remove some ACLs by one request; return those that are desired then."""
    gone = [each for each in sorted(desired) if chance.random() < 0.6]
    new = [each for each in chance.sample(ACLS, chance.randint(1, 6)) if each not in desired]
    if gone and (len(desired) > 8 or chance.random() < 0.5):
        goal = desired - set(gone)
        poll.widen(goal)
        server.remove_acls(gone)
    else:
        goal = desired | set(new)
        poll.widen(goal)
        server.add_acls(new)
    return goal


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("is_open", [False, True])
async def test_no_intermediate_access_is_wider_than_both_states(
    tmp_path: Path, pytestconfig: pytest.Config, *, is_open: bool
) -> None:
    rounds = min(CHANGES, SESSION * pytestconfig.getoption("cluster_rounds"))
    kafka = or_skip(
        lambda: KafkaCluster(
            "4.3.1",
            users={"mallory": "mallory-secret"},
            overrides={
                "auto.create.topics.enable": "true",
                "allow.everyone.if.no.acl.found": str(is_open).lower(),
            },
        )
    )
    with kafka:
        await create_topics(kafka.direct[0])
        poll = Poll(Policy(allow_everyone=is_open), f"localhost:{kafka.brokers[0].sasl_port}")
        poll.settle(())
        polling = asyncio.create_task(poll.run())
        await asyncio.to_thread(changes, tmp_path, kafka, poll, rounds)
        assert not polling.done(), polling.result()
        polling.cancel()
        assert poll.faults == []
        assert poll.polls > rounds


def changes(folder: Path, kafka: KafkaCluster, poll: Poll, rounds: int) -> None:
    """Make changes by a server that is killed in the middle of one and goes on; lose its store."""
    chance = random.Random(SEED)
    file, data = folder / "clusters.yaml", folder / "data"
    limits = {"limits": SLOWLY, "accept": ["open"]}
    file.write_text(json.dumps({"clusters": [cluster("a", kafka.bootstrap, **limits)]}))
    port = free_port()
    properties = {
        "doorkeeper.clusters.file": str(file),
        "doorkeeper.data.dir": str(data),
        "doorkeeper.http.listener": f"http://127.0.0.1:{port}",
    }
    with DoorkeeperProcess(
        listeners=["PLAINTEXT"], super_users=["User:ANONYMOUS"], properties=properties
    ) as server:

        def settle() -> None:
            """Wait until the cluster has the last revision: polls may see no other one."""
            with closing(connect_readonly(data / DATABASE_NAME)) as store:
                last = store.execute("SELECT max(revision) FROM change_log").get
            eventually(lambda: status_at(port)["revision"] == last, lambda: status_at(port))
            assert kafka.acls() == desired
            poll.settle(desired)

        entry = cluster("a", kafka.bootstrap, **limits, store=store_id_of(data))
        file.write_text(json.dumps({"clusters": [entry]}))
        server.restart()
        desired: set[AclBinding] = set()
        for number in range(rounds):
            desired = change(server, desired, chance, poll)
            if number % SESSION == SESSION // 2:
                kafka.proxies[0].cut()
                kafka.proxies[0].heal()
            if number % SESSION == SESSION - 1:
                server.kill()
                server.restart()
            elif chance.random() < 0.7:
                settle()
        settle()
        server.kill()
        shutil.rmtree(data)
        server.restart()
        before = poll.polls
        eventually(lambda: poll.polls > before + 100)
        assert kafka.acls() == desired != set()
        assert server.acls() == []
