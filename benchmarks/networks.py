"""What do networks in the hosts of ACLs cost, here and in Kafka 4.4?

    python benchmarks/networks.py [--networks 10000] [--no-kafka]

Three worlds have the same ACLs but for their hosts: addresses, networks, and networks asked from
addresses that were never seen. Kafka's StandardAuthorizer 4.4.0 gets the world of networks and the
same questions in the same run, in a JVM of its own; the verdicts are compared. All ACLs are on one
topic, of one principal: Kafka parses each of them for each decision.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from doorkeeper.acls.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    Principal,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.server.authorizer.contract import (
    Action,
    AuthorizationResult,
    AuthorizerServerInfo,
    Endpoint,
)
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.runtime.request_context import (
    AuthorizableRequestContext,
)
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.schema.features import release_change
from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.memory import MemoryStore
from testkit.kafka_jars import Unavailable, jars
from versus import worlds
from versus.in_process import JAVA_SOURCES, Silence

if TYPE_CHECKING:
    from collections.abc import Sequence

    Asked = tuple[AuthorizableRequestContext, list[Action]]

PATTERN = ResourcePattern(ResourceType.TOPIC, "orders", PatternType.LITERAL)
READ = AclOperation.READ
CLIENTS = 2_000
ROUNDS = 5
ROUND_MS = 2_000
PATIENCE_S = 300


def address(chance: random.Random) -> str:
    """Return an address anywhere in 10.0.0.0/8 and 172.0.0.0/8."""
    first = chance.choice((10, 172))
    return f"{first}.{chance.randrange(256)}.{chance.randrange(256)}.{chance.randrange(256)}"


def acls(hosts: Sequence[str], chance: random.Random) -> list[AclBinding]:
    """Return an ACL for each host; one of fifty denies."""
    deny, allow = AclPermissionType.DENY, AclPermissionType.ALLOW
    return [
        AclBinding(
            PATTERN,
            AccessControlEntry("User:a", host, READ, deny if chance.random() < 0.02 else allow),
        )
        for host in dict.fromkeys(hosts)
    ]


async def authorizer_of(bindings: Sequence[AclBinding]) -> StandardAuthorizer:
    """Return an authorizer that follows Kafka 4.4."""
    stored = [StoredBinding(f"{number:022}", each) for number, each in enumerate(bindings)]
    authorizer = StandardAuthorizer(authorizer_log=Silence())
    authorizer.attach(StateLog(MemoryStore({**edit(ACL, set=stored), **release_change("4.4")})))
    authorizer.configure({})
    endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9092)
    info = AuthorizerServerInfo("c" * 22, 1, (endpoint,), endpoint, frozenset())
    await authorizer.start(info)[endpoint]
    return authorizer


def requests(hosts: Sequence[str]) -> list[Asked]:
    """Return a question for each host."""
    principal = Principal("User", "a")
    return [
        (
            AuthorizableRequestContext("L", "PLAINTEXT", principal, host, 3, 12, "bench", 1),
            [Action(READ, PATTERN, 1, log_if_allowed=True, log_if_denied=False)],
        )
        for host in hosts
    ]


def per_call_us(authorizer: StandardAuthorizer, asked: Sequence[Asked]) -> float:
    """Return what a decision takes, each question asked once."""
    begun = time.perf_counter()
    for each in asked:
        authorizer.authorize(*each)
    return (time.perf_counter() - begun) / len(asked) * 1e6


def kafka(bindings: list[AclBinding], hosts: Sequence[str]) -> tuple[float, str]:
    """Return the median time of a decision of Kafka's, and its verdicts.

    Raises:
        Unavailable: there is no Kafka 4.4.0 on this machine.
        CalledProcessError: the JVM failed.

    """
    found = jars("4.4.0", JAVA_SOURCES)
    with tempfile.TemporaryDirectory() as folder:
        world, asked = Path(folder) / "acls", Path(folder) / "questions"
        worlds.write_world(world, bindings)
        questions = [worlds.Question("User:a", host, READ, "orders") for host in hosts]
        worlds.write_questions(asked, questions)
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
        words = ["java", quiet, "-cp", found.classpath, "AuthorizerBench", str(world), str(asked)]
        done = subprocess.run(
            [*words, str(ROUNDS), str(ROUND_MS)],
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE_S,
        )
    told = json.loads(done.stdout)
    return median(told["authorize_us"]), told["verdicts"]


async def main() -> None:
    """Measure, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--networks", type=int, default=10_000)
    parser.add_argument("--no-kafka", action="store_true")
    options = parser.parse_args()
    chance = random.Random(1276)
    addresses = [address(chance) for _ in range(options.networks)]
    networks = [f"{each}/{chance.randint(12, 32)}" for each in addresses]
    with_addresses = await authorizer_of(acls(addresses, chance))
    bindings = acls(networks, random.Random(1))
    with_networks = await authorizer_of(bindings)
    gc.freeze()
    clients = [address(chance) for _ in range(CLIENTS)]
    asked = requests(clients)
    for authorizer in (with_addresses, with_networks):
        per_call_us(authorizer, asked)
    plain, known, fresh = [], [], []
    for _ in range(ROUNDS):
        plain.append(per_call_us(with_addresses, asked * 10))
        known.append(per_call_us(with_networks, asked * 10))
        fresh.append(per_call_us(with_networks, requests([address(chance) for _ in clients])))
    without = median(plain)
    print(f"{len(bindings):,} ACLs of one principal on one topic, {CLIENTS:,} clients")
    print(f"  hosts are addresses                    {without:12,.2f} us")
    for what, rounds in (("hosts are networks", known), ("the same, an address never seen", fresh)):
        took = median(rounds)
        print(f"  {what:<39}{took:12,.2f} us   {took / without:8.2f}x of addresses")
    if options.no_kafka:
        return
    try:
        theirs, verdicts = kafka(bindings, clients)
    except Unavailable as missing:
        sys.exit(str(missing))
    allowed = AuthorizationResult.ALLOWED
    ours = "".join("01"[with_networks.authorize(*each)[0] is allowed] for each in asked)
    if not verdicts or ours[: len(verdicts)] != verdicts:
        sys.exit("the two authorizers do not decide alike")
    ratio = theirs / median(known)
    print(f"  Kafka 4.4.0, the same networks         {theirs:12,.2f} us   {ratio:8,.0f}x of ours")
    print(f"  {len(verdicts):,} verdicts compared, {verdicts.count('1'):,} of them allowed")


if __name__ == "__main__":
    asyncio.run(main())
