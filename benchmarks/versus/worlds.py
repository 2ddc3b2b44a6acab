"""The ACLs that both sides hold, and the questions that both are asked.

The same seed gives the same world anywhere. About twenty ACLs for each user, on about three for
each topic; 10 % of the entries are for one host, 3 % deny.

    plain       89 % literal, 11 % prefixes of a team's names
    wildcards   1 % of the literal "*", 5 % prefixes of one to three characters, beside the above
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.acls.model import (
    WILDCARD,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
OPERATIONS = tuple(AclOperation(code) for code in (2, 3, 4, 5, 6, 7, 8, 10, 11))
ASKED = tuple(AclOperation(code) for code in (3, 4, 8))

BENCH_USER = "bench"
"""Who asks for Metadata and groups: no super user, so that every answer is decided."""


class Question(NamedTuple):
    """May this principal, at this address, do this with this topic?"""

    principal: str
    host: str
    operation: AclOperation
    name: str


def bindings(count: int, *, wildcards: bool = False) -> Iterator[AclBinding]:
    """Return so many different ACLs; a smaller world is no part of a larger one."""
    chance = random.Random(count * 2 + wildcards)
    users, topics = max(count // 20, 1), max(count // 3, 1)
    seen: set[AclBinding] = set()
    while len(seen) < count:
        entry = AccessControlEntry(
            f"User:user-{chance.randrange(users)}",
            WILDCARD if chance.random() < 0.9 else f"10.0.0.{chance.randrange(256)}",
            chance.choice(OPERATIONS),
            DENY if chance.random() < 0.03 else ALLOW,
        )
        binding = AclBinding(
            _pattern(chance, topic_name(chance.randrange(topics)), wildcards), entry
        )
        if binding not in seen:
            seen.add(binding)
            yield binding


def _pattern(chance: random.Random, name: str, wildcards: bool) -> ResourcePattern:
    kind = chance.random()
    if wildcards and kind < 0.01:
        return ResourcePattern(TOPIC, WILDCARD, LITERAL)
    if wildcards and kind < 0.06:
        return ResourcePattern(TOPIC, name[: chance.randrange(1, 4)], PREFIXED)
    if kind > 0.89:
        return ResourcePattern(TOPIC, name[: name.index(".") + chance.randrange(1, 9)], PREFIXED)
    return ResourcePattern(TOPIC, name, LITERAL)


def topic_name(number: int) -> str:
    """Return a topic's name as companies have them."""
    return f"team-{number % 997}.domain-{number % 31}.events-{number}"


def questions(acls: int, count: int) -> list[Question]:
    """Return questions about a world of so many ACLs."""
    chance = random.Random(acls)
    users, topics = max(acls // 20, 1), max(acls // 3, 1)
    return [
        Question(
            f"User:user-{chance.randrange(users)}",
            f"10.0.0.{chance.randrange(256)}",
            chance.choice(ASKED),
            topic_name(chance.randrange(topics)),
        )
        for _ in range(count)
    ]


def bench_rights() -> Iterator[AclBinding]:
    """Return what the user has who asks for Metadata and groups."""
    principal = f"User:{BENCH_USER}"
    for kind, name, pattern_type, operation in (
        (TOPIC, "bench-", PREFIXED, AclOperation.DESCRIBE),
        (TOPIC, "bench-topic-1", PREFIXED, AclOperation.WRITE),
        (GROUP, "bench-", PREFIXED, AclOperation.READ),
        (CLUSTER, "kafka-cluster", LITERAL, AclOperation.DESCRIBE),
    ):
        pattern = ResourcePattern(kind, name, pattern_type)
        yield AclBinding(pattern, AccessControlEntry(principal, WILDCARD, operation, ALLOW))


def write_world(path: Path, world: list[AclBinding]) -> None:
    """Write ACLs for the Java side: a line each, seven fields with tabs between, enums as codes."""
    with path.open("w") as file:
        for (kind, name, pattern_type), entry in world:
            fields = (kind, name, pattern_type, entry[0], entry[1], entry[2], entry[3])
            file.write("\t".join(str(int(f) if isinstance(f, int) else f) for f in fields) + "\n")


def write_questions(path: Path, asked: list[Question]) -> None:
    """Write questions for the Java side: principal, host, operation, topic."""
    with path.open("w") as file:
        for each in asked:
            file.write(f"{each.principal}\t{each.host}\t{int(each.operation)}\t{each.name}\n")
