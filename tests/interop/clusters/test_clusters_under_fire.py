"""Real clusters of three releases, kept by two nodes, while everything is killed in turn.

``--cluster-rounds`` and ``--cluster-acls`` make the long form shorter.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import defaultdict
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import pytest

from doorkeeper.acls.model import ANY_BINDING, AclOperation, exactly
from doorkeeper.client.admin import AdminClient
from doorkeeper.client.bindings import (
    bindings_of,
    creation_request,
    deletion_request,
    description_request,
)
from doorkeeper.client.config import ClientConfig, address_of
from doorkeeper.client.connection import ClientConnection
from doorkeeper.client.errors import ClientError
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.delete_acls import DeleteAclsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.acl import READ, allow, group, topic
from testkit.cluster import Cluster
from testkit.kafka_cluster import START_S, KafkaCluster
from testkit.kafka_jars import Unavailable, cannot, jars
from testkit.kafka_tools import KafkaTools
from testkit.synchronized import shared_store_id_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence
    from pathlib import Path

    from doorkeeper.acls.model import AclBinding, AclBindingFilter
    from testkit.postgres import Postgres

SEED: Final = 20261127
INTERVAL_MS: Final = 3_000
SETTLED_S: Final = 900
BROKER_S: Final = 300
"""On a busy machine a broker with many ACLs takes long to come back."""

ACKNOWLEDGED_PER_ROUND: Final = 3

BATCH: Final = 5_000
OUTSIDE: Final = 200
FULL_EVERY: Final = 10
"""After so many rounds all ACLs of all brokers are compared, else those that were touched."""


@dataclass
class Counts:
    """What was seen, for the report of the test."""

    acknowledged: int = 0
    unknown: int = 0
    checks: int = 0
    edits: int = 0
    faults: dict[str, int] = field(default_factory=dict)


class Connections:
    """Connections past the proxies, one for each address, opened again when they are lost."""

    def __init__(self) -> None:
        self._open: dict[str, ClientConnection] = {}
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def to(self, address: str) -> ClientConnection:
        async with self._turns[address]:
            found = self._open.get(address)
            if found is not None and found.alive:
                return found
            if found is not None:
                await found.close()
            config = ClientConfig(bootstrap=address, request_timeout_ms=60_000)
            found = await ClientConnection.connect(address_of(address), config)
            self._open[address] = found
            return found

    async def close(self) -> None:
        for each in self._open.values():
            await each.close()


async def described(
    connections: Connections, address: str, wanted: AclBindingFilter = ANY_BINDING
) -> frozenset[AclBinding]:
    """Return what the authorizer of one broker has; one that is killed is waited for."""
    ends_s = time.monotonic() + BROKER_S
    while True:
        try:
            connection = await connections.to(address)
            answer = await connection.call(description_request(wanted), DescribeAclsResponse)
        except (ClientError, OSError):
            if time.monotonic() > ends_s:
                raise
            await asyncio.sleep(0.1)
            continue
        assert answer.error_code == 0, f"{address}: {answer.error_message}"
        return await asyncio.to_thread(_bindings, answer)


def _bindings(answer: DescribeAclsResponse) -> frozenset[AclBinding]:
    return frozenset(bindings_of(answer))


class Scene:
    """The clusters, the nodes, and what is to be where."""

    def __init__(
        self,
        kafkas: Sequence[KafkaCluster],
        nodes: Cluster,
        base: Sequence[AclBinding],
        outside: Sequence[set[AclBinding]],
        tools: KafkaTools,
        chance: random.Random,
    ) -> None:
        self.kafkas, self.nodes, self.base = kafkas, nodes, base
        self.outside = outside
        self.tools, self.chance = tools, chance
        self.counts = Counts()
        self.touched: set[AclBinding] = set()
        self.connections = Connections()

    @property
    def brokers(self) -> list[str]:
        return [address for kafka in self.kafkas for address in kafka.direct]

    async def where(self, binding: AclBinding) -> dict[str, bool]:
        """Return which brokers of all clusters enforce an ACL."""
        wanted = exactly(binding)
        found = await asyncio.gather(
            *(described(self.connections, each, wanted) for each in self.brokers)
        )
        return {each: bool(one) for each, one in zip(self.brokers, found, strict=True)}

    def states(self) -> str:
        logs = [
            "\n".join(each.log.read_text(errors="replace").splitlines()[-5:])
            for kafka in self.kafkas
            for each in kafka.brokers
        ]
        return "\n".join([self.nodes.logs(), *logs])


class Writer:
    """Makes changes on either node; each that is acknowledged is looked up on every broker."""

    def __init__(self, scene: Scene, number: int) -> None:
        self._scene = scene
        self._name = f"writer-{number}"
        self._random = random.Random(f"{SEED}/{number}")
        self._made = 0
        self._connections = Connections()
        self.mine: list[AclBinding] = []
        self.stopping = False

    async def run(self) -> None:
        while not self.stopping:
            node = self._random.choice(self._scene.nodes.ports)
            try:
                connection = await self._connections.to(f"127.0.0.1:{node}")
            except (ClientError, OSError):
                await asyncio.sleep(0.1)
                continue
            if len(self.mine) > 5 and self._random.random() < 0.5:
                await self._delete(connection)
            else:
                await self._create(connection)
        await self._connections.close()

    async def _create(self, connection: ClientConnection) -> None:
        bindings = []
        for _ in range(self._random.choice((1, 3, 12))):
            self._made += 1
            bindings.append(allow(self._name, READ, topic(f"pay-{self._name}-{self._made}")))
        try:
            answer = await connection.call(creation_request(bindings), CreateAclsResponse)
        except (ClientError, OSError):
            self._scene.counts.unknown += 1
            return
        codes = {each.error_code for each in answer.results}
        if codes == {0}:
            await self._check(bindings, is_there=True)
            self.mine += bindings
        else:
            self._scene.counts.unknown += 1

    async def _delete(self, connection: ClientConnection) -> None:
        binding = self.mine.pop(self._random.randrange(len(self.mine)))
        try:
            answer = await connection.call(deletion_request([exactly(binding)]), DeleteAclsResponse)
        except (ClientError, OSError):
            self._scene.counts.unknown += 1
            return
        (result,) = answer.filter_results
        if result.error_code == 0:
            assert len(result.matching_acls) == 1, f"{binding} was acknowledged, and is not there"
            await self._check([binding], is_there=False)
        else:
            self._scene.counts.unknown += 1

    async def _check(self, bindings: Sequence[AclBinding], *, is_there: bool) -> None:
        self._scene.counts.acknowledged += 1
        for found in await asyncio.gather(*map(self._scene.where, bindings)):
            self._scene.counts.checks += len(found)
            wrong = [broker for broker, has in found.items() if has is not is_there]
            assert not wrong, (
                f"acknowledged, and not enforced by {wrong}: {bindings}\n{self._scene.states()}"
            )


async def edit(scene: Scene, kafka: KafkaCluster, action: str, user: str, name: str) -> None:
    """Add or remove an ACL with kafka-acls, as an administrator of the cluster does."""
    words = ("--allow-principal", f"User:{user}", "--operation", "Read", "--topic", name)
    sure = ("--force",) if action == "--remove" else ()
    done = await asyncio.to_thread(
        scene.tools.run, "kafka-acls", "--bootstrap-server", kafka.bootstrap, action, *words, *sure
    )
    assert done.status == 0, done.text
    scene.counts.edits += 1


async def edits_by_others(scene: Scene, number: int) -> None:
    """Edit one cluster by the tool, within the scope and outside of it."""
    at = number % len(scene.kafkas)
    kafka, outside = scene.kafkas[at], scene.outside[at]
    gone = scene.chance.choice([each for each in scene.base if is_plain(each)])
    await edit(scene, kafka, "--remove", gone.entry.principal[5:], gone.pattern.name)
    await edit(scene, kafka, "--add", f"mallory-{number}", "pay-0")
    scene.touched |= {gone, allow(f"mallory-{number}", READ, topic("pay-0"))}
    await edit(scene, kafka, "--add", f"dora-{number}", "hr-new")
    outside.add(allow(f"dora-{number}", READ, topic("hr-new")))
    old = scene.chance.choice(sorted(outside))
    await edit(scene, kafka, "--remove", old.entry.principal[5:], old.pattern.name)
    outside.remove(old)


def is_plain(binding: AclBinding) -> bool:
    """Return whether the words of ``edit`` name an ACL."""
    return binding == allow(binding.entry.principal[5:], READ, topic(binding.pattern.name))


async def broker_dies(scene: Scene) -> None:
    broker = scene.chance.choice([each for kafka in scene.kafkas for each in kafka.brokers])
    await asyncio.to_thread(broker.kill)
    await asyncio.sleep(scene.chance.uniform(0, 2))
    broker.launch()
    await asyncio.to_thread(broker.wait, START_S)


async def node_dies(scene: Scene) -> None:
    server = scene.chance.choice(scene.nodes.servers)
    await asyncio.to_thread(server.kill)
    await asyncio.sleep(scene.chance.uniform(0, 2))
    await asyncio.to_thread(server.start)


async def connections_are_cut(scene: Scene) -> None:
    kafka = scene.chance.choice(scene.kafkas)
    proxies = [*kafka.proxies, *kafka.controller_proxies]
    chosen = scene.chance.sample(proxies, scene.chance.randint(1, len(proxies)))
    for _ in range(3):
        for each in chosen:
            await asyncio.to_thread(scene.chance.choice([each.cut, each.black_hole, each.pause]))
        await asyncio.sleep(scene.chance.uniform(0.1, 2))
        for each in chosen:
            await asyncio.to_thread(each.heal)
        await asyncio.sleep(scene.chance.uniform(0, 0.5))


FAULTS = (broker_dies, node_dies, connections_are_cut)


async def settled(scene: Scene, where: str, *, is_full: bool) -> None:
    """Wait until every broker has the desired set, and what is outside of it as others left it.

    Raises:
        AssertionError: that never comes.
    """
    ends_s = time.monotonic() + SETTLED_S
    base = frozenset(scene.base)
    while True:
        desired = await desired_set(scene)
        wrong: list[str] = []
        for binding in scene.touched:
            for broker, has in (await scene.where(binding)).items():
                if has is not (binding in base):
                    wrong.append(f"{broker}: {binding}")
        if is_full and not wrong:
            for kafka, outside in zip(scene.kafkas, scene.outside, strict=True):
                for broker in kafka.direct:
                    found = await described(scene.connections, broker)
                    wrong += differences(broker, desired | outside, found)
        if not wrong:
            return
        assert time.monotonic() < ends_s, f"{where}: {wrong[:5]}\n{scene.states()}"
        await asyncio.sleep(0.5)


def differences(
    broker: str, wanted: Iterable[AclBinding], found: Iterable[AclBinding]
) -> list[str]:
    """Return a text where a broker has other ACLs than it should have."""
    missing, extra = set(wanted) - set(found), set(found) - set(wanted)
    if not missing and not extra:
        return []
    example = min(missing | extra)
    return [f"{broker}: {len(missing)} missing, {len(extra)} too many, for example {example}"]


async def desired_set(scene: Scene) -> frozenset[AclBinding]:
    """Return the ACLs of the nodes, as soon as both have the same."""
    ends_s = time.monotonic() + SETTLED_S
    while True:
        one, other = [
            await described(scene.connections, f"127.0.0.1:{port}") for port in scene.nodes.ports
        ]
        if one == other:
            return one
        assert time.monotonic() < ends_s, "the nodes do not agree"
        await asyncio.sleep(0.2)


def base_acls(count: int) -> list[AclBinding]:
    """Return so many ACLs of the scope, of topics and groups, with a thousand principals."""
    operations = (READ, AclOperation.WRITE, AclOperation.DESCRIBE)
    return [
        allow(
            f"user-{number % 1000}",
            operations[number % 3] if number % 10 else READ,
            (group if number % 10 == 5 else topic)(f"pay-{number // 1000}"),
        )
        for number in range(count)
    ]


async def create(address: str, bindings: Sequence[AclBinding]) -> None:
    """Create ACLs in batches; a new cluster may have no controller yet."""
    config = ClientConfig(bootstrap=address, request_timeout_ms=60_000, timeout_ms=300_000)
    async with AdminClient(config) as admin:
        for at in range(0, len(bindings), BATCH):
            results = await admin.create_acls(bindings[at : at + BATCH])
            assert {each.error for each in results} == {None}


@asynccontextmanager
async def scene_of(postgres_server: Postgres, folder: Path, acls: int) -> AsyncIterator[Scene]:
    """Give clusters of three releases, and two nodes that keep them, with so many ACLs."""
    database = postgres_server.create_database()
    base = base_acls(acls)
    with Cluster(database, 1) as alone:
        await create(f"127.0.0.1:{alone.ports[0]}", base)
    store_id = shared_store_id_of(database)
    outside = [
        {allow(f"dora-{at}-{number}", READ, topic(f"hr-{number}")) for number in range(OUTSIDE)}
        for at in range(3)
    ]
    with ExitStack() as stack:
        try:
            tools = KafkaTools(jars("4.3.1"))
            stack.callback(tools.close)
            heap = "512M" if acls <= 20_000 else "1200M"
            kafkas = [
                stack.enter_context(KafkaCluster(version, brokers, heap=heap))
                for version, brokers in (("3.9.1", 1), ("4.3.1", 3), ("4.4.0", 1))
            ]
        except Unavailable as missing:
            cannot(str(missing))
        for kafka, others in zip(kafkas, outside, strict=True):
            await create(kafka.direct[0], sorted(others))
        clusters = folder / "clusters.yaml"
        clusters.write_text(
            json.dumps({"clusters": [entry(each, store_id) for each in kafkas]}), encoding="utf-8"
        )
        properties = {
            "doorkeeper.clusters.file": str(clusters),
            "doorkeeper.acknowledge": "clusters",
            "doorkeeper.update.timeout.ms": "45000",
            # Faults of the database have a suite of their own: a busy one is not to look away.
            "doorkeeper.store.connect.timeout.ms": "10000",
            "doorkeeper.store.statement.timeout.ms": "20000",
            "broker.session.timeout.ms": "9000",
        }
        nodes = stack.enter_context(
            Cluster(database, 2, properties=properties, operations_ports=True)
        )
        scene = Scene(kafkas, nodes, base, outside, tools, random.Random(SEED))
        try:
            yield scene
        finally:
            await scene.connections.close()
    database.drop()


def entry(kafka: KafkaCluster, store_id: str) -> dict[str, object]:
    """Return the entry of a cluster; the oldest is polled, the log of the others is followed."""
    followed = {} if kafka.version == "3.9.1" else {"controllers": kafka.controllers}
    return {
        "name": f"kafka-{kafka.version}",
        "bootstrap": kafka.bootstrap,
        "mode": "enforce",
        "store": store_id,
        "scope": {"prefixes": ["pay-"]},
        "interval.ms": INTERVAL_MS,
        "properties": {"request.timeout.ms": 5_000, "default.api.timeout.ms": 10_000},
        **followed,
    }


@pytest.mark.slow
@pytest.mark.timeout(3 * 3600)
async def test_acknowledged_changes_are_enforced_despite_kills(
    postgres_server: Postgres, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    rounds = pytestconfig.getoption("cluster_rounds")
    acls = pytestconfig.getoption("cluster_acls")
    async with scene_of(postgres_server, tmp_path, acls) as scene:
        await settled(scene, "at first", is_full=True)
        writers: list[Writer] = []
        for number in range(rounds):
            fault = FAULTS[number % len(FAULTS)]
            writers = [Writer(scene, 2 * number + at) for at in range(2)]
            async with asyncio.TaskGroup() as writing:
                tasks = [writing.create_task(each.run()) for each in writers]
                await edits_by_others(scene, number)
                await fault(scene)
                await enough_acknowledged(scene, ACKNOWLEDGED_PER_ROUND * (number + 1))
                for each in writers:
                    each.stopping = True
                await asyncio.gather(*tasks)
            scene.counts.faults[fault.__name__] = scene.counts.faults.get(fault.__name__, 0) + 1
            is_full = (number + 1) % FULL_EVERY == 0 or acls <= BATCH
            await settled(scene, f"round {number}, {fault.__name__}", is_full=is_full)
            scene.touched.clear()
        await settled(scene, "at the end", is_full=True)
        assert scene.counts.acknowledged >= ACKNOWLEDGED_PER_ROUND * rounds


async def enough_acknowledged(scene: Scene, wanted: int) -> None:
    """Wait until the writers have so many acknowledged changes: a round with none shows nothing."""
    async with asyncio.timeout(SETTLED_S):
        while scene.counts.acknowledged < wanted:
            await asyncio.sleep(0.1)
