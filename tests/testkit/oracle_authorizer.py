"""Kafka's StandardAuthorizer as the judge of ours.

A world is what AuthorizerOracle.java reads: a dictionary of configuration, ACLs, changes,
questions and filters, all of them lists of texts and wire codes. Both authorizers answer it in the
same form, so that answers are compared with ``==`` and a world can be kept as a JSON file.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from doorkeeper.acls.bulk import load
from doorkeeper.acls.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AccessControlEntryFilter,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    Principal,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)
from doorkeeper.acls.networks import address_of, network_of
from doorkeeper.acls.snapshot import Snapshot
from doorkeeper.server.authorizer.authorizer_log import DEBUG, INFO, TRACE
from doorkeeper.server.authorizer.contract import Action
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.config.keys import AUTHORIZER_LOG_FORMAT
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext
from testkit.authorizers import CollectedAuthorizerLog, decide_from
from testkit.java_lines import JavaLines
from testkit.kafka_jars import ORACLES, jars
from testkit.oracle_worlds import host_of, sorts_before_wildcard

World = Mapping[str, Any]
Answer = dict[str, Any]

FORMS = {"4.4.0": "4.2", "4.3.1": "4.2", "3.9.1": "3.3"}
"""The releases that are asked, and the form of the authorizer log's lines of each."""

WITH_NETWORKS = "4.4.0"
"""The first release in which a host may be a network."""

LITERAL = PatternType.LITERAL.value

_LEVELS = {TRACE: "TRACE", DEBUG: "DEBUG", INFO: "INFO"}
_SIMPLE_LOGGER = "-Dorg.slf4j.simpleLogger"
_OPTIONS = (
    f"{_SIMPLE_LOGGER}.log.kafka.authorizer.logger=trace",
    f"{_SIMPLE_LOGGER}.showThreadName=false",
    f"{_SIMPLE_LOGGER}.showLogName=false",
)


class AuthorizerOracle:
    """The authorizer of one release, in a JVM of its own."""

    def __init__(self, release: str) -> None:
        """Take the release.

        Raises:
            Unavailable: this machine cannot have it.
        """
        found = jars(release, ORACLES / "authorizer")
        self.release = release
        self._lines = JavaLines(found, "AuthorizerOracle", _OPTIONS)

    def answer(self, world: World) -> Answer:
        """Return Kafka's answer, with what filters find in order."""
        answer: Answer = self._lines.ask(world)
        if "refused" in answer:
            return {"refused": True}
        return answer | {"filters": [sorted(found) for found in answer["filters"]]}

    def our_answer(self, world: World) -> Answer:
        """Return the answer of our authorizer, its log lines in the form of the release."""
        return our_answer(world, self.release)

    def close(self) -> None:
        """End the JVM."""
        self._lines.close()


def our_answer(world: World, release: str, snapshot: Snapshot | None = None) -> Answer:
    """Return what our authorizer answers by the rules of a release.

    ``snapshot`` are ACLs from elsewhere, in place of those of the world.
    """
    audit = CollectedAuthorizerLog()
    authorizer = StandardAuthorizer(authorizer_log=audit)
    try:
        authorizer.configure({**world["configs"], AUTHORIZER_LOG_FORMAT.name: FORMS[release]})
    except ValueError:
        return {"refused": True}
    acls = _snapshot(world) if snapshot is None else snapshot
    decide_from(authorizer, acls.with_network_matching(enabled=release == WITH_NETWORKS))
    return {
        "count": authorizer.acl_count(),
        "questions": [_decision(authorizer, audit, each) for each in world["questions"]],
        "by_type": [_by_type(authorizer, audit, each) for each in world["by_type"]],
        "filters": [
            sorted(_row(binding) for binding in authorizer.acls(_filter(each)))
            for each in world["filters"]
        ],
    }


def matched_by_networks(world: World) -> int:
    """Return how many questions match a network: an ACL that covers them has it for a host."""
    networked = [row for row in (*world["acls"], *world["added"]) if network_of(row[4])]

    @cache
    def matches(who: str, address: str, resource_type: int, name: str) -> bool:
        client = address_of(host_of(address))
        return client is not None and any(
            stored_type == resource_type
            and principal in (who, WILDCARD_PRINCIPAL)
            and (stored in (name, WILDCARD) if kind == LITERAL else name.startswith(stored))
            and (network := network_of(host)) is not None
            and network.contains(client)
            for stored_type, stored, kind, principal, host, *_ in networked
        )

    return sum(
        matches(f"{kind}:{who}", address, resource_type, name)
        for kind, who, address, _, resource_type, name, *_ in world["questions"]
    )


QUESTION_FIELDS = 11
"""How many fields a question about a decision has; other questions have fewer."""


def _asks_as_everyone(asked: Any, kafka: Any, ours: Any) -> bool:
    """Say whether Kafka fails because two principals of its set are one: User:* asks."""
    return bool(asked[:2] == ["User", "*"] and kafka == {"refused": "duplicate element: User:*"})


def _another_allow(asked: Any, kafka: Any, ours: Any) -> bool:
    """Say whether only the ALLOW that is named differs, for a name that sorts before ``*``."""

    def told(answer: Any) -> Any:
        return [*answer[:2], answer[2].partition(" based on rule MatchingAcl(")[:2]]

    both = [kafka, ours]
    return (
        len(asked) == QUESTION_FIELDS
        and sorts_before_wildcard(asked[5])
        and all(isinstance(answer, list) and answer[0] == "ALLOWED" for answer in both)
        and told(kafka) == told(ours)
    )


ACCEPTED = {
    "User:* may ask": _asks_as_everyone,
    "the ALLOW named for a resource that sorts before *": _another_allow,
}
"""Where we answer otherwise than Kafka; docs/reference/compatibility.md has the reasons."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of a world: a text about each difference, and the accepted ones by name."""

    different: list[str]
    accepted: list[str]


def compared(world: World, kafka: Answer, ours: Answer) -> Comparison:
    """Return how the two answers differ."""
    if kafka.keys() != ours.keys() or kafka.get("count") != ours.get("count"):
        return Comparison([f"Kafka: {kafka}\nours:  {ours}"], [])
    found = Comparison([], [])
    for part in ("questions", "by_type", "filters") if "refused" not in kafka else ():
        for asked, theirs, own in zip(world[part], kafka[part], ours[part], strict=True):
            if theirs == own:
                continue
            names = [name for name, accepts in ACCEPTED.items() if accepts(asked, theirs, own)]
            found.accepted.extend(names[:1])
            if not names:
                found.different.append(f"{part}: {asked}\nKafka: {theirs}\nours:  {own}")
    return found


def _snapshot(world: World) -> Snapshot:
    loaded = [_binding(row) for row in world["acls"]]
    added = [_binding(row) for row in world["added"]]
    return (
        load(_numbered("s", loaded))
        .with_changes(_numbered("a", added))
        .without([loaded[place] for place in world["removed"]])
    )


def _numbered(letter: str, bindings: list[AclBinding]) -> Iterator[tuple[str, AclBinding]]:
    return ((f"{letter}{place:021}", binding) for place, binding in enumerate(bindings))


def _decision(authorizer: StandardAuthorizer, audit: CollectedAuthorizerLog, question: Any) -> Any:
    _, _, _, operation, resource_type, name, pattern_type, api_key, count, allowed, denied = (
        question
    )
    resource = ResourcePattern(ResourceType(resource_type), name, PatternType(pattern_type))
    action = Action(AclOperation(operation), resource, count, allowed, denied)
    context = _context(question, api_key)
    try:
        [result] = authorizer.authorize(context, [action])
    except ValueError as error:
        return {"refused": str(error)}
    return [result.value, context.client_address, _logged(audit)]


def _by_type(authorizer: StandardAuthorizer, audit: CollectedAuthorizerLog, question: Any) -> Any:
    _, _, _, operation, resource_type, api_key = question
    context = _context(question, api_key)
    try:
        result = authorizer.authorize_by_resource_type(
            context, AclOperation(operation), ResourceType(resource_type)
        )
    except ValueError as error:
        return {"refused": str(error)}
    return [result.value, context.client_address, _logged(audit)]


def _context(question: Any, api_key: int) -> AuthorizableRequestContext:
    principal_type, principal_name, address = question[:3]
    return AuthorizableRequestContext(
        listener_name="PLAINTEXT",
        security_protocol="PLAINTEXT",
        principal=Principal(principal_type, principal_name),
        client_address=host_of(address),
        request_type=api_key,
        request_version=3,
        client_id="client-1",
        correlation_id=7,
    )


def _logged(audit: CollectedAuthorizerLog) -> str:
    """Return and forget what was written, as the simple logger of the Java side prints it."""
    text = "".join(f"{_LEVELS[level]} {line}\n" for level, line in audit.lines)
    audit.lines.clear()
    return text


def _binding(row: Any) -> AclBinding:
    resource_type, name, pattern_type, principal, host, operation, permission_type = row
    return AclBinding(
        ResourcePattern(ResourceType(resource_type), name, PatternType(pattern_type)),
        AccessControlEntry(
            principal, host, AclOperation(operation), AclPermissionType(permission_type)
        ),
    )


def _filter(row: Any) -> AclBindingFilter:
    resource_type, name, pattern_type, principal, host, operation, permission_type = row
    return AclBindingFilter(
        ResourcePatternFilter(ResourceType(resource_type), name, PatternType(pattern_type)),
        AccessControlEntryFilter(
            principal, host, AclOperation(operation), AclPermissionType(permission_type)
        ),
    )


def _row(binding: AclBinding) -> list[Any]:
    return [*binding.pattern, *binding.entry]
