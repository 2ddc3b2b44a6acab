"""The same random worlds for Kafka's StandardAuthorizer and for ours.

Left out are questions that a broker of 4.3.1 does not answer: names that begin with a character
below ``*`` may send its walk round in circles or past the end of a name, and a user who is called
``*`` makes it throw. ``docs/authorizer.md`` tells what happens here.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.acl.bulk import load
from doorkeeper.acl.by_type import allowed_on_some
from doorkeeper.acl.decision import Policy, Question, explain, is_allowed
from doorkeeper.acl.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    Principal,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.authorizer.audit_line import FORMS
from doorkeeper.authorizer.contract import PROBE_NAME, Action, AuthorizableRequestContext

if TYPE_CHECKING:
    import random

    from testkit.kafka_jars import Jars

VECTORS = Path(__file__).resolve().parents[1] / "vectors" / "authorizer.json"

FORM_OF = {"4.3.1": "4.2", "3.9.1": "3.3"}
"""The form in which each release that is asked writes its audit line."""

NAMES = ("a", "ab", "abc", "b", "*", "**", "*a", "\uff5e", "\U0001f600", "\U0001f600a", "c d", "=")
PRINCIPALS = ("User:a", "Group:*", "Group:a", "User:b:c", "\U0001f600:x", "\uff5e:x", "A:b")
HOSTS = ("10.0.0.1", "10.0.0.2", "0:0:0:0:0:0:0:1")
TYPES = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
OPERATIONS = tuple(each for each in AclOperation if AclOperation.ALL <= each <= 14)
DENSE_OPERATIONS = (AclOperation.ALL, AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE)
PATTERN_TYPES = (PatternType.LITERAL, PatternType.PREFIXED)
PERMISSIONS = (AclPermissionType.DENY, *(AclPermissionType.ALLOW,) * 3)


class World(NamedTuple):
    """One configuration, its ACLs, and what is asked; a question of the probe asks for "some"."""

    super_user: str
    allow_everyone: bool
    bindings: tuple[AclBinding, ...]
    questions: tuple[Question, ...]


def random_world(chance: random.Random) -> World:
    """Make a world of up to 30 ACLs with 12 questions, 3 of which ask for "some".

    Half of the worlds have few names, principals and operations: there many ACLs match at once, and
    their order decides which is reported.
    """
    dense = chance.random() < 0.5
    types = TYPES[:1] if dense else TYPES
    names = chance.sample(NAMES, 3) if dense else NAMES
    principals = chance.sample(PRINCIPALS, 2) if dense else PRINCIPALS
    hosts = HOSTS[:1] if dense else HOSTS
    operations = DENSE_OPERATIONS if dense else OPERATIONS
    bindings = dict.fromkeys(
        AclBinding(
            ResourcePattern(
                chance.choice(types), chance.choice(names), chance.choice(PATTERN_TYPES)
            ),
            AccessControlEntry(
                chance.choice(("User:*", *principals)),
                chance.choice(("*", *hosts)),
                chance.choice(operations),
                chance.choice(PERMISSIONS),
            ),
        )
        for _ in range(chance.randrange(30))
    )
    return World(
        super_user=chance.choice(("", "", "User:a", "Group:a")),
        allow_everyone=chance.random() < 0.5,
        bindings=tuple(bindings),
        questions=tuple(
            Question(
                chance.choice(principals),
                chance.choice(hosts),
                chance.choice(operations),
                chance.choice(types),
                PROBE_NAME if number < 3 else chance.choice((*names, "abcd")),
            )
            for number in range(12)
        ),
    )


def our_answers(world: World, form: str) -> list[str]:
    """Return for each question the answer, and before it the audit line of a plain one."""
    policy = Policy(
        super_users=frozenset(filter(None, (world.super_user,))),
        allow_everyone=world.allow_everyone,
    )
    snapshot = load((f"{place:022}", each) for place, each in enumerate(world.bindings))
    found = []
    for question in world.questions:
        principal, host, operation, resource_type, name = question
        allowed = is_allowed(policy, snapshot, question)
        if name == PROBE_NAME:
            allowed = allowed or allowed_on_some(
                snapshot, resource_type, operation, principal=principal, host=host
            )
        else:
            context = AuthorizableRequestContext(
                "PLAINTEXT", "PLAINTEXT", Principal.parse(principal), host, 3, 12, "oracle", 1
            )
            action = Action(operation, ResourcePattern(resource_type, name, PatternType.LITERAL))
            found.append(FORMS[form](context, action, explain(policy, snapshot, question)))
        found.append("ALLOWED" if allowed else "DENIED")
    return found


def kafkas_answers(kafka: Jars, worlds: list[World]) -> list[str]:
    """Return what Kafka's authorizer answers and audits, all worlds in one run."""
    quiet = "-Dorg.slf4j.simpleLogger"
    done = subprocess.run(
        [
            "java",
            f"{quiet}.defaultLogLevel=off",
            f"{quiet}.log.kafka.authorizer.logger=debug",
            f"{quiet}.logFile=System.out",
            f"{quiet}.showThreadName=false",
            f"{quiet}.showLogName=false",
            "-Dfile.encoding=UTF-8",
            "-Dstdout.encoding=UTF-8",
            *("-cp", kafka.classpath, "AuthorizerOracle"),
        ],
        input="".join(f"{line}\n" for world in worlds for line in _script(world)),
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=True,
    )
    lines = (line.removeprefix("DEBUG ").removeprefix("INFO ") for line in done.stdout.split("\n"))
    return [line for line in lines if line and not _is_probe(line)]


def _is_probe(line: str) -> bool:
    return " with resourceRefCount = 0 based on rule " in line


def _script(world: World) -> list[str]:
    lines = [f"new\t{world.super_user}\t{str(world.allow_everyone).lower()}"]
    lines += ["\t".join(("add", *each)) for each in map(_words, world.bindings)]
    for principal, host, operation, resource_type, name in world.questions:
        fields = [principal, host, operation.name, resource_type.name]
        some = name == PROBE_NAME
        lines.append("\t".join(("some", *fields) if some else ("ask", *fields, name)))
    return lines


def _words(binding: AclBinding) -> list[str]:
    pattern, entry = binding
    return [
        *(pattern.resource_type.name, pattern.name, pattern.pattern_type.name),
        *(entry.principal, entry.host, entry.operation.name, entry.permission_type.name),
    ]


def write_vectors(worlds: list[World], answers: dict[str, list[list[str]]]) -> None:
    """Keep worlds with the answers of each release, by world."""
    rows = [
        {
            "super_user": world.super_user,
            "allow_everyone": world.allow_everyone,
            "acls": [_words(each) for each in world.bindings],
            "asked": [
                [each.principal, each.host, each.operation.name, each.resource_type.name, each.name]
                for each in world.questions
            ],
            "answers": {release: answers[release][place] for release in answers},
        }
        for place, world in enumerate(worlds)
    ]
    lines = ",\n".join(json.dumps(row) for row in rows)
    VECTORS.write_text(f"[\n{lines}\n]\n")


def read_vectors() -> list[tuple[World, dict[str, list[str]]]]:
    """Return the worlds that were kept, each with its answers by release."""
    return [(_world(row), row["answers"]) for row in json.loads(VECTORS.read_text())]


def _world(row: dict[str, list[list[str]]]) -> World:
    return World(
        super_user=str(row["super_user"]),
        allow_everyone=bool(row["allow_everyone"]),
        bindings=tuple(
            AclBinding(
                ResourcePattern(ResourceType[kind], name, PatternType[pattern]),
                AccessControlEntry(who, host, AclOperation[what], AclPermissionType[permission]),
            )
            for kind, name, pattern, who, host, what, permission in row["acls"]
        ),
        questions=tuple(
            Question(who, host, AclOperation[what], ResourceType[kind], name)
            for who, host, what, kind, name in row["asked"]
        ),
    )
