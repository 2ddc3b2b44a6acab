"""Answers a question about many names and clients: always, never or sometimes, with examples.

One name and one client of each class stand for all (``partition``), and the engine decides about
them. Patterns of other principals make no difference, unless the mere existence of an ACL does
(``allow.everyone.if.no.acl.found``).
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from doorkeeper.acls.decision import Question, allows, explain
from doorkeeper.acls.host_sets import host_classes
from doorkeeper.acls.index import masks
from doorkeeper.acls.model import WILDCARD, WILDCARD_PRINCIPAL
from doorkeeper.acls.partition import extent_of, name_examples
from doorkeeper.acls.regions import covering_patterns, single
from doorkeeper.base.garbage_collection import collection_paused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from doorkeeper.acls.decision import Decision, Policy
    from doorkeeper.acls.index import Names
    from doorkeeper.acls.model import AclOperation, ResourceType
    from doorkeeper.acls.regions import Extent
    from doorkeeper.acls.snapshot import Snapshot


class Verdict(Enum):
    """The answer for all names and clients."""

    ALWAYS = "always"
    NEVER = "never"
    SOMETIMES = "sometimes"


class Space(NamedTuple):
    """Questions about an operation of a principal: all names of an extent, all clients of a host.

    ``host`` is ``*``, an address or a network.
    """

    principal: str
    host: str
    operation: AclOperation
    resource_type: ResourceType
    names: Extent


class Case(NamedTuple):
    """A decision, and a question that has it."""

    question: Question
    decision: Decision


class Examples(Struct, frozen=True):
    """An example of an allowed and one of a denied question; None where there is none."""

    allowed: Question | None
    denied: Question | None

    @property
    def verdict(self) -> Verdict:
        """Return the answer for all questions."""
        if self.denied is None:
            return Verdict.ALWAYS
        return Verdict.NEVER if self.allowed is None else Verdict.SOMETIMES


def cases(policy: Policy, snapshot: Snapshot, space: Space) -> list[Case]:
    """Return each decision about the questions, those that allow first.

    Decisions differ by rule and binding. Of several questions the shortest name is the example.
    Cost: a decision for each class of names and clients.
    """
    examples: dict[Decision, Question] = {}
    # Thousands of decisions stay, and none is garbage: collections would take a third of the time.
    with collection_paused():
        # Sorted twice: by name, then by its length.
        questions = sorted(_questions(policy, snapshot, space))
        for question in sorted(questions, key=lambda question: len(question.name)):
            examples.setdefault(explain(policy, snapshot, question), question)
    all_cases = [Case(question, decision) for decision, question in examples.items()]
    return sorted(all_cases, key=lambda case: not case.decision.allowed)


def answer(policy: Policy, snapshot: Snapshot, space: Space) -> Examples:
    """Return an example of each answer to the questions."""
    allowed = denied = None
    for question in _questions(policy, snapshot, space):
        if allows(policy, snapshot, question):
            allowed = allowed or question
        else:
            denied = denied or question
        if allowed is not None and denied is not None:
            break
    return Examples(allowed, denied)


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of all questions, where each of its parts has one of these verdicts."""
    distinct = set(verdicts)
    return distinct.pop() if len(distinct) == 1 else Verdict.SOMETIMES


def hosts_about(
    snapshot: Snapshot, resource_type: ResourceType, name: str, principals: Iterable[str]
) -> frozenset[str]:
    """Return the hosts in bindings of some principals that cover a resource."""
    named = snapshot.types[resource_type].principals
    return frozenset(
        host
        for principal in principals
        if (cells := named.get(principal)) is not None
        for pattern in covering_patterns(cells, single(name))
        for host, _ in masks(cells.get(*pattern) or 0)
    )


def names_about(policy: Policy, snapshot: Snapshot, space: Space) -> list[str]:
    """Return a name of each class of names. Cost: O(patterns of the principal and of ``User:*``).

    With ``allow.everyone.if.no.acl.found`` O(all patterns).
    """
    return list(name_examples(space.names, _extents(policy, snapshot, space)))


# Most names are about the same few hosts.
@lru_cache(maxsize=1024)
def clients_within(host: str, hosts: frozenset[str], *, networks: bool) -> tuple[str, ...]:
    """Return a client of each class of the clients of a host, ``*`` or a network.

    ``hosts`` are those of the ACLs that the questions depend on.
    """
    classes = host_classes(hosts, networks=networks, within=host)
    return tuple(host_class.client for host_class in classes if host_class.client is not None)


def _questions(policy: Policy, snapshot: Snapshot, space: Space) -> Iterator[Question]:
    principal, host, operation, resource_type, scope = space
    is_super = principal in policy.super_users
    # ACLs do not count for super users: all names and clients are alike.
    extents = () if is_super else _extents(policy, snapshot, space)
    clients: tuple[str, ...] = (host,)
    many = host == WILDCARD or "/" in host
    # One by one: a verdict mostly needs the first few.
    for name in name_examples(scope, extents):
        if many:
            hosts: frozenset[str] = frozenset()
            if not is_super:
                both = (principal, WILDCARD_PRINCIPAL)
                hosts = hosts_about(snapshot, resource_type, name, both)
            clients = clients_within(host, hosts, networks=snapshot.matches_networks)
        for client in clients:
            yield Question(principal, client, operation, resource_type, name)


def _extents(policy: Policy, snapshot: Snapshot, space: Space) -> Iterator[Extent]:
    index = snapshot.types[space.resource_type]
    tables: list[Names[Any]] = [cells for _, cells in index.concerning(space.principal)]
    if policy.allow_everyone:
        tables.append(index.patterns)
    names = space.names
    if names.is_single:
        return
    for table in tables:
        for name, pattern_type, _ in table.patterns():
            extent = extent_of(name, pattern_type)
            if names.contains(extent):
                yield extent
