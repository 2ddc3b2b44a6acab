"""``doorkeeper acls explain`` and ``lint`` judged by Kafka's own authorizer.

Random ACLs are created on a real broker and on Doorkeeper. Each question is put to our command,
about the text of ``kafka-acls.sh --list`` and about both servers, and to ``StandardAuthorizer``.
"""

import asyncio
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from doorkeeper.acls.formats.choosing import read
from doorkeeper.acls.model import (
    ANY_BINDING,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acls.operations import SUPPORTED_OPERATIONS
from doorkeeper.cli.commands import doorkeeper
from doorkeeper.client import AdminClient, ClientConfig
from doorkeeper.server.resources.topics.names import reason_invalid
from testkit.kafka_broker import KafkaBroker
from testkit.kafka_jars import BROKERS
from testkit.kafka_target import RELEASES, Target, doorkeeper_target, kafka_target
from testkit.kafka_tools import KafkaTools
from testkit.or_skip import or_skip
from testkit.oracle_authorizer import AuthorizerOracle
from testkit.oracle_totals import Totals

SEED = 20_261_122
ACLS = 70
NAMES = ("a", "ab", "abc", "b,c", 'q"x', "*", "主题")
PRINCIPALS = ("User:a", "User:b", "User:CN=a,O=b c", "Group:a")
HOSTS = ("10.0.0.1", "0:0:0:0:0:0:0:1")
NETWORKS = ("10.0.0.0/8", "10.0.0.0/31", "11.0.0.0/8", "::/0", "::1/128", "0.0.0.0/0")
OPTIONS = {
    ResourceType.TOPIC: "--topic",
    ResourceType.GROUP: "--group",
    ResourceType.TRANSACTIONAL_ID: "--transactional-id",
}
SUPER = "User:b"
POLICIES = (("", False), (SUPER, True))
SHOWN_S = 30

# The tool of 3.9.1 prints UNKNOWN for the newest one, of which nobody can tell what it was.
KNOWN = [each for each in AclOperation if AclOperation.ANY < each < AclOperation.TWO_PHASE_COMMIT]

Question = tuple[str, str, AclOperation, ResourceType, str]
QUESTIONS: list[Question] = [
    (principal, host, operation, kind, name)
    for principal, host, kind in product(PRINCIPALS, HOSTS, OPTIONS)
    for operation, name in product(SUPPORTED_OPERATIONS[kind], (*NAMES, "zz"))
    # The command refuses names that no topic can have.
    if kind is not ResourceType.TOPIC or reason_invalid(name) is None
]


def world() -> list[AclBinding]:
    """Return random ACLs, some of which have no effect."""
    chance = random.Random(SEED)
    found = {
        AclBinding(
            ResourcePattern(
                chance.choice([*OPTIONS]),
                chance.choice(NAMES),
                chance.choice((PatternType.LITERAL, PatternType.PREFIXED)),
            ),
            AccessControlEntry(
                chance.choice((*PRINCIPALS, "User:*")),
                chance.choice((*HOSTS, *NETWORKS, "*", "*", "*")),
                chance.choice(KNOWN),
                chance.choice([AclPermissionType.ALLOW] * 2 + [AclPermissionType.DENY]),
            ),
        )
        for _ in range(ACLS)
    }
    return sorted(found)


def answers(
    oracle: AuthorizerOracle,
    bindings: Sequence[AclBinding],
    policy: tuple[str, bool],
    questions: Sequence[Question],
) -> list[tuple[bool, str]]:
    """Return what Kafka decides, and the rule of its authorizer log line."""
    asked = [
        [*who.split(":", 1), host, int(operation), int(kind), name, 3, 3, 1, True, True]
        for who, host, operation, kind, name in questions
    ]
    answer = oracle.answer(
        {
            "configs": {
                "super.users": policy[0],
                "allow.everyone.if.no.acl.found": str(policy[1]).lower(),
            },
            "acls": [[*map(_plain, (*each.pattern, *each.entry))] for each in bindings],
            "added": [],
            "removed": [],
            "questions": asked,
            "by_type": [],
            "filters": [],
        }
    )
    found = []
    for decided, _, line in answer["questions"]:
        rule = line.rpartition("based on rule ")[2].partition("(")[0].strip()
        found.append((decided == "ALLOWED", rule))
    return found


def rules_of(version: str) -> tuple[str, str]:
    """Return the option for files: a server tells its release itself."""
    return "--kafka", RELEASES[version]


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, int) else value


def explained(question: Question, policy: tuple[str, bool] | None, *words: str) -> dict[str, Any]:
    """Return the record that the command prints; without a policy its words must say one."""
    who, host, operation, kind, name = question
    line = ["acls", "explain", "--principal", who, "--host", host, "--operation", operation.name]
    line += [OPTIONS[kind], name, "--output", "json"]
    if policy is not None:
        users = policy[0].split(";")
        line += [word for user in users for word in ("--super-user", user)]
        line += ["--allow-everyone"] if policy[1] else []
    result = CliRunner().invoke(doorkeeper, [*line, *words])
    assert result.exit_code == 0, result.output
    # Of names that are prefixes of ACLs too.
    assert all("the answer is for the name" in each for each in result.stderr.splitlines())
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.fixture(scope="module", params=BROKERS)
def version(request: pytest.FixtureRequest) -> str:
    """Name the releases of Kafka in turn."""
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def oracle(version: str) -> Iterator[AuthorizerOracle]:
    """Give the authorizer of the release."""
    judge = or_skip(lambda: AuthorizerOracle(version))
    yield judge
    judge.close()


async def filled(address: str, bindings: Sequence[AclBinding]) -> None:
    """Create ACLs, and wait until the server tells of all of them."""
    async with AdminClient(ClientConfig(bootstrap=address)) as client:
        created = await client.create_acls(bindings)
        assert [each.error for each in created if each.error] == []
        until = time.monotonic() + SHOWN_S
        while await client.describe_acls(ANY_BINDING) != sorted(bindings):
            assert time.monotonic() < until, "the server does not show all ACLs"


@pytest.fixture(scope="module")
def servers(version: str) -> Iterator[dict[str, Target]]:
    """Give a broker and a Doorkeeper with the world's ACLs."""
    broker = or_skip(lambda: kafka_target(version))
    try:
        ours = doorkeeper_target(version)
        try:
            for target in (broker, ours):
                asyncio.run(filled(target.plain, world()))
            yield {"kafka": broker, "doorkeeper": ours}
        finally:
            ours.close()
    finally:
        broker.close()


@pytest.fixture(params=["4.3.1", "3.9.1"])
def listing(
    request: pytest.FixtureRequest,
    kafka_tools: Callable[[str], KafkaTools],
    servers: dict[str, Target],
    tmp_path: Path,
) -> Path:
    """Give the broker's ACLs as the tool of a release lists them."""
    address = servers["kafka"].plain
    done = kafka_tools(request.param).run("kafka-acls", "--bootstrap-server", address, "--list")
    assert done.status == 0
    (tmp_path / "listed").write_text(done.stdout, encoding="utf-8")
    return tmp_path / "listed"


@pytest.mark.parametrize("policy", POLICIES)
def test_listing_is_explained_as_by_kafka(
    listing: Path,
    oracle: AuthorizerOracle,
    version: str,
    policy: tuple[str, bool],
    totals: Totals,
) -> None:
    assert sorted(read(listing.read_text(encoding="utf-8"))) == world()
    questions = random.Random(SEED).sample(QUESTIONS, 300)
    kafkas = answers(oracle, world(), policy, questions)

    differing = []
    for question, theirs in zip(questions, kafkas, strict=True):
        found = explained(question, policy, str(listing), *rules_of(version))
        if (found["allowed"], found["rule"]) != theirs:
            differing.append((question, theirs, found))
    totals.compared["explanations of ACLs that kafka-acls.sh listed"] += len(questions)

    assert differing == []
    rules = {"MatchingAcl", "SuperUser" if policy[0] else "DefaultDeny"}
    assert rules <= {rule for _, rule in kafkas}
    assert {allowed for allowed, _ in kafkas} == {True, False}


@pytest.mark.parametrize("name", ["kafka", "doorkeeper"])
def test_servers_are_explained_as_by_kafka(
    servers: dict[str, Target],
    name: str,
    oracle: AuthorizerOracle,
    tmp_path: Path,
    totals: Totals,
) -> None:
    policy = POLICIES[0]
    questions = random.Random(SEED + 1).sample(QUESTIONS, 40)
    kafkas = answers(oracle, world(), policy, questions)
    target = servers[name]
    config = tmp_path / "admin.properties"
    config.write_text("".join(f"{key}={value}\n" for key, value in target.config("admin").items()))
    ways = (
        (f"kafka://{target.plain}",),
        (f"controllers://{target.controller}",),
        (f"kafka://{target.sasl}", "--command-config", str(config)),
    )

    for place, (question, theirs) in enumerate(zip(questions, kafkas, strict=True)):
        found = explained(question, policy, *ways[place % len(ways)])
        assert (found["allowed"], found["rule"]) == theirs, question
        assert found["acls"] == len(world())
    totals.compared["explanations of a server's ACLs"] += len(questions)


def test_broker_configuration_completes_the_answer(
    servers: dict[str, Target], oracle: AuthorizerOracle, totals: Totals
) -> None:
    broker = servers["kafka"]
    assert isinstance(broker.server, KafkaBroker)
    config = ("--config", str(broker.server.properties))
    asker = ("User:admin", "10.0.0.1", AclOperation.WRITE, ResourceType.TOPIC, "zz")
    policy = ("User:ANONYMOUS;User:admin", False)
    questions = [asker, *random.Random(SEED + 3).sample(QUESTIONS, 10)]
    kafkas = answers(oracle, world(), policy, questions)

    for question, theirs in zip(questions, kafkas, strict=True):
        found = explained(question, None, f"kafka://{broker.plain}", *config)
        assert (found["allowed"], found["rule"]) == theirs, question
        assert found["policy"]["superUsers"] == ["User:ANONYMOUS", "User:admin"]
        assert found["policy"]["superUsersFrom"] == "configured"
    totals.compared["explanations of a server's ACLs"] += len(questions)
