"""ACL bindings as plain rows, to write expectations with and to read a tool's output into.

A row is (resource type, name, pattern type, principal, host, operation, permission), in Kafka's
words: ``("TOPIC", "t", "LITERAL", "User:bob", "*", "READ", "ALLOW")``.
"""

import re
import time
from collections.abc import Iterable, Mapping, Sequence

from testkit.kafka_target import Target
from testkit.kafka_tools import Done, KafkaTools

Row = tuple[str, str, str, str, str, str, str]
Rows = frozenset[Row]

ANY: Sequence[str | None] = ("ANY", None, "ANY", None, None, "ANY", "ANY")
"""The filter that asks for every binding."""

SETTLE_S = 10
"""How long a real broker may take to show what it acknowledged."""

_RESOURCE = re.compile(
    r"ResourcePattern\(resourceType=(\w+), name=(.*?), patternType=(\w+)\)`", re.DOTALL
)
_ENTRY = re.compile(r"\(principal=(.*?), host=(.*?), operation=(\w+), permissionType=(\w+)\)")


def allow(principal: str, operations: str, on: str, *, hosts: Iterable[str] = ("*",)) -> Rows:
    """Return the rows that allow ``operations`` ("READ WRITE") on a resource.

    ``on`` is "TOPIC name", or "TOPIC name PREFIXED".
    """
    return _rows(principal, operations, on, hosts, "ALLOW")


def deny(principal: str, operations: str, on: str, *, hosts: Iterable[str] = ("*",)) -> Rows:
    """As ``allow``, for DENY."""
    return _rows(principal, operations, on, hosts, "DENY")


def _rows(principal: str, operations: str, on: str, hosts: Iterable[str], permission: str) -> Rows:
    kind, name, *pattern = on.split(" ")
    return frozenset(
        (kind, name, pattern[0] if pattern else "LITERAL", principal, host, operation, permission)
        for host in hosts
        for operation in operations.split()
    )


def listed(done: Done) -> Rows:
    """Return what ``kafka-acls --list`` printed, of either release's form."""
    rows: set[Row] = set()
    resource: tuple[str, ...] = ()
    for line in done.stdout.splitlines():
        if found := _RESOURCE.search(line):
            resource = found.groups()
        for principal, host, operation, permission in _ENTRY.findall(line):
            kind, name, pattern = resource
            rows.add((kind, name, pattern, principal, host, operation, permission))
    return frozenset(rows)


class Acls:
    """The ACLs of a target, read and set with Kafka's own Java AdminClient."""

    def __init__(self, tools: KafkaTools, target: Target) -> None:
        self._tools = tools
        self._target = target

    def now(self, wanted: Sequence[str | None] = ANY) -> Rows:
        """Return the bindings that match a filter, now."""
        found: list[tuple[str, str, str, str, str, str, str]] = [
            (kind, name, pattern, principal, host, operation, permission)
            for kind, name, pattern, principal, host, operation, permission in self._call(
                "describeAcls", filter=wanted
            )
        ]
        return frozenset(found)

    def are(self, expected: Rows) -> bool:
        """Whether the target holds exactly these.

        A real broker shows an acknowledged change a little later, so it is asked again; Doorkeeper
        is asked once. A difference is reported by an AssertionError that names it.
        """
        deadline = time.monotonic() + (SETTLE_S if self._target.is_kafka else 0)
        while (held := self.now()) != expected and time.monotonic() < deadline:
            time.sleep(0.02)
        missing, extra = sorted(expected - held), sorted(held - expected)
        assert (missing, extra) == ([], []), f"missing: {missing}\nnot expected: {extra}"
        return True

    def put(self, *groups: Rows) -> Rows:
        """Create these bindings and wait until they are seen; return them as one set."""
        rows = frozenset().union(*groups)
        self._call("createAcls", bindings=sorted(rows))
        self.are(self.now() | rows)
        return rows

    def clear(self) -> None:
        """Delete every binding."""
        if self.now():
            self._call("deleteAcls", filters=[ANY])
            self.are(frozenset())

    def _call(self, name: str, **parts: object) -> list[list[str]]:
        config: Mapping[str, str] = self._target.config()
        answer: list[list[str]] = self._tools.call(name, config, **parts)
        return answer
