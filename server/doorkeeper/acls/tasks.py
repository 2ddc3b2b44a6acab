"""Tasks that need several permissions, such as producing in transactions, and their answers.

A client does a task from one address, so the needs are answered client by client. Of a resource
that the task needs and the question does not name, the client chooses the name: one that is allowed
is enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.acls.access import unnamed_principal
from doorkeeper.acls.bulk import load
from doorkeeper.acls.cases import (
    Case,
    Space,
    Verdict,
    answer,
    cases,
    clients_within,
    hosts_about,
    names_about,
    together,
)
from doorkeeper.acls.decision import Policy
from doorkeeper.acls.effective_changes import (
    ComparisonScope,
    DecisionState,
    depend_on_hosts,
    effective_changes,
)
from doorkeeper.acls.model import WILDCARD, WILDCARD_PRINCIPAL, AclOperation, ResourceType
from doorkeeper.acls.partition import extent_of
from doorkeeper.acls.regions import ALL_NAMES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from doorkeeper.acls.decision import Decision, Question
    from doorkeeper.acls.effective_changes import EffectiveChange
    from doorkeeper.acls.regions import Extent
    from doorkeeper.acls.snapshot import Snapshot

_TOPIC, _GROUP = ResourceType.TOPIC, ResourceType.GROUP
_ID = ResourceType.TRANSACTIONAL_ID
# No request of a task asks for permissions on the cluster: IDEMPOTENT_WRITE follows from WRITE.
TASKS: Final[Mapping[str, Sequence[tuple[ResourceType, AclOperation]]]] = {
    "produce": ((_TOPIC, AclOperation.WRITE),),
    "produce-transactional": ((_TOPIC, AclOperation.WRITE), (_ID, AclOperation.WRITE)),
    "consume": ((_TOPIC, AclOperation.READ), (_GROUP, AclOperation.READ)),
}
"""The permissions that each task needs; the first resource is the one that is asked about."""


class TaskNeed(Struct, frozen=True):
    """A permission that is needed for all names of an extent; None is a name to choose."""

    operation: AclOperation
    resource_type: ResourceType
    names: Extent | None


class NeedAnswer(NamedTuple):
    """The cases of a need, and its verdict."""

    need: TaskNeed
    cases: Sequence[Case]
    verdict: Verdict


class TaskAnswer(Struct, frozen=True):
    """The answers to the needs of a task, and the verdict of all together."""

    verdict: Verdict
    needs: Sequence[NeedAnswer]


class TaskAccess(Struct, frozen=True):
    """A principal that may do a task, always or sometimes; ``User:*`` is one that no ACL names.

    ``allowed`` has an example for each need, from one client; ``denied`` is None with ALWAYS.
    """

    principal: str
    verdict: Verdict
    allowed: tuple[Question, ...]
    denied: Question | None


def task_answer(
    policy: Policy, snapshot: Snapshot, principal: str, host: str, needs: Sequence[TaskNeed]
) -> TaskAnswer:
    """Return the verdict of a task, with the cases of each need; ``host`` is as in ``Space``."""
    if len(needs) == 1 and needs[0].names is not None:
        need_cases = cases(policy, snapshot, _space(principal, host, needs[0]))
        verdict = together(map(_verdict, need_cases))
        return TaskAnswer(verdict, [NeedAnswer(needs[0], need_cases, verdict)])
    whole: list[Verdict] = []
    cases_by_need: list[dict[Case, None]] = [{} for _ in needs]
    verdicts: list[set[Verdict]] = [set() for _ in needs]
    for client in _clients(policy, snapshot, principal, host, needs):
        of_client = []
        for need, its_cases, its_verdicts in zip(needs, cases_by_need, verdicts, strict=True):
            asked = cases(policy, snapshot, _space(principal, client, need))
            if need.names is None:
                # The client chooses an allowed name, if there is one.
                asked = asked[:1]
            of_client.append(together(_verdict(case) for case in asked))
            its_verdicts.add(of_client[-1])
            its_cases.update(dict.fromkeys(asked))
        whole.append(_all_of(of_client))
    answers = [
        NeedAnswer(need, _distinct(its_cases), together(its_verdicts))
        for need, its_cases, its_verdicts in zip(needs, cases_by_need, verdicts, strict=True)
    ]
    return TaskAnswer(together(whole), answers)


def task_access(
    policy: Policy, snapshot: Snapshot, host: str, needs: Sequence[TaskNeed]
) -> list[TaskAccess]:
    """Return the principals that may do a task for some of the names, or from some of the clients.

    Cost: O(patterns of the types), and for each principal with ACLs on these names a decision for
    each class of them.
    """
    indexes = [snapshot.types[need.resource_type].principals for need in needs]
    # Principals without ACLs of these types are all alike, but for super users.
    named = policy.super_users.union(*indexes)
    others = _access(policy, snapshot, unnamed_principal(named), host, needs)
    accesses = [replace(others, principal=WILDCARD_PRINCIPAL)]
    for principal in sorted(named - {WILDCARD_PRINCIPAL}):
        if principal in policy.super_users or _has_acls(snapshot, principal, needs):
            accesses.append(_access(policy, snapshot, principal, host, needs))
        else:
            accesses.append(replace(others, principal=principal))
    return [access for access in accesses if access.verdict is not Verdict.NEVER]


def regions_of(
    policy: Policy,
    snapshot: Snapshot,
    principals: Collection[str],
    host: str,
    need: TaskNeed,
) -> dict[str, list[EffectiveChange]]:
    """Return the regions of a need with names by principal, the allowed ones first.

    ``host`` is as in ``Space``. Each question about the need is in one region: the regions are what
    changes from a state that denies everything, and from one that allows everything, to the ACLs.
    """
    assert need.names is not None
    scope = ComparisonScope(
        resource_types=(need.resource_type,),
        names=need.names,
        host=host,
        principals=frozenset(principals),
        operation=need.operation,
    )
    regions: dict[str, list[EffectiveChange]] = {principal: [] for principal in principals}
    no_acls = load(()).with_network_matching(enabled=snapshot.matches_networks)
    for everyone in (False, True):
        before = DecisionState(Policy(allow_everyone=everyone), no_acls)
        for change in effective_changes(before, DecisionState(policy, snapshot), scope):
            if change.principal in regions:
                regions[change.principal].append(change)
    return regions


def _access(
    policy: Policy, snapshot: Snapshot, principal: str, host: str, needs: Sequence[TaskNeed]
) -> TaskAccess:
    # A single need is answered at once: only several ones have to be met by the same client.
    if len(needs) == 1 and needs[0].names is not None:
        examples = answer(policy, snapshot, _space(principal, host, needs[0]))
        first = () if examples.allowed is None else (examples.allowed,)
        return TaskAccess(principal, examples.verdict, first, examples.denied)
    answers = [answer(policy, snapshot, _space(principal, host, need)) for need in needs]
    if any(of_need.allowed is None for of_need in answers):
        return TaskAccess(principal, Verdict.NEVER, (), None)
    verdicts: set[Verdict] = set()
    allowed: tuple[Question, ...] = ()
    denied: Question | None = None
    for client in _clients(policy, snapshot, principal, host, needs):
        of_client = [answer(policy, snapshot, _space(principal, client, need)) for need in needs]
        for need, of_need in zip(needs, of_client, strict=True):
            is_met = of_need.allowed if need.names is None else not of_need.denied
            if not is_met:
                denied = denied or of_need.denied
        verdict = _all_of(
            Verdict.ALWAYS if need.names is None and of_need.allowed else of_need.verdict
            for need, of_need in zip(needs, of_client, strict=True)
        )
        verdicts.add(verdict)
        if not allowed and verdict is not Verdict.NEVER:
            allowed = tuple(of_need.allowed for of_need in of_client if of_need.allowed is not None)
        if len(verdicts) > 1 and allowed and denied:
            break
    return TaskAccess(principal, together(verdicts), allowed, denied)


def _has_acls(snapshot: Snapshot, principal: str, needs: Sequence[TaskNeed]) -> bool:
    """Say whether ACLs of a principal's own are about some of the names."""
    for need in needs:
        cells = snapshot.types[need.resource_type].principals.get(principal)
        if cells is None:
            continue
        names = need.names or ALL_NAMES
        for name, how, _ in cells.patterns():
            extent = extent_of(name, how)
            if names.contains(extent) or extent.contains(names):
                return True
    return False


def _clients(
    policy: Policy, snapshot: Snapshot, principal: str, host: str, needs: Sequence[TaskNeed]
) -> Iterator[str]:
    """Yield clients such that each other client of the host has the answers of one of them."""
    if host != WILDCARD and "/" not in host:
        yield host
        return
    principals = (principal, WILDCARD_PRINCIPAL)
    hosts: set[str] = set()
    for need in needs:
        tables = [cells for _, cells in snapshot.types[need.resource_type].concerning(principal)]
        if principal not in policy.super_users and depend_on_hosts(tables):
            for name in names_about(policy, snapshot, _space(principal, host, need)):
                hosts |= hosts_about(snapshot, need.resource_type, name, principals)
    yield from clients_within(host, frozenset(hosts), networks=snapshot.matches_networks)


def _space(principal: str, host: str, need: TaskNeed) -> Space:
    names = ALL_NAMES if need.names is None else need.names
    return Space(principal, host, need.operation, need.resource_type, names)


def _verdict(case: Case) -> Verdict:
    return Verdict.ALWAYS if case.decision.allowed else Verdict.NEVER


def _all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of needs that have to be met together."""
    distinct = set(verdicts)
    if Verdict.NEVER in distinct:
        return Verdict.NEVER
    return Verdict.SOMETIMES if Verdict.SOMETIMES in distinct else Verdict.ALWAYS


def _distinct(asked: Iterable[Case]) -> list[Case]:
    """Return a case for each decision, those that allow first."""
    by_decision: dict[Decision, Case] = {}
    for case in asked:
        by_decision.setdefault(case.decision, case)
    return sorted(by_decision.values(), key=lambda case: not case.decision.allowed)
