"""The least ACLs for recorded authorization requests, and ACLs that the requests do not need.

A request that the authorizer denied counts only if the broker reports it: some denials shorten a
list, or lead to another question. ``least_acls`` is sufficient, because each request is allowed by
one of its ACLs, and minimal, because without any one of them some request is denied.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.acls.bulk import snapshot_of
from doorkeeper.acls.by_type import allowed_on_some
from doorkeeper.acls.decision import Policy, Question, allows
from doorkeeper.acls.model import (
    CLUSTER_NAME,
    WILDCARD,
    AclOperation,
    AclPermissionType,
    ResourceType,
)
from doorkeeper.acls.operations import satisfied_by
from doorkeeper.acls.privileges import Known, Need, least

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Collection, Iterable, Sequence

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.privileges import Privilege
    from doorkeeper.acls.snapshot import Snapshot

_NO_POLICY = Policy()


class RecordedAccess(Struct, frozen=True):
    """A distinct authorization request: how often an API made it, and when first.

    With ``on_any`` it asks for the operation on any resource of the type (KIP-679), and the name of
    the question has no meaning. ``reported`` says whether the client learns of a denial.
    """

    question: Question
    api: str
    allowed: bool
    reported: bool
    uses: int
    first: dt.datetime
    on_any: bool = False


class NeededAcl(Struct, frozen=True):
    """An ACL, and the requests that it allows: those for its own operation first."""

    binding: AclBinding
    reasons: tuple[RecordedAccess, ...]


def least_acls(accesses: Iterable[RecordedAccess]) -> list[NeededAcl]:
    """Return the smallest set of literal ALLOWs that allows all accesses, sorted.

    The ACLs are for all hosts. Accesses that no ACL can grant alone, such as those to a topic
    called ``*``, are left out.
    """
    recorded = list(accesses)
    needs = [_need(access) for access in recorded if not access.on_any]
    needs += [_need(access) for access in _without_resource(recorded, needs)]
    return [
        NeededAcl(privilege.binding, _reasons(privilege, recorded))
        for privilege in least(needs, Known({}))
    ]


def missing_acls(
    bindings: Iterable[AclBinding], accesses: Iterable[RecordedAccess]
) -> list[NeededAcl]:
    """Return the least ACLs for the accesses that a set of ACLs does not allow, sorted."""
    snapshot = snapshot_of(bindings)
    return least_acls(access for access in accesses if not _allows(snapshot, access))


def unneeded_acls(
    bindings: Collection[AclBinding], accesses: Iterable[RecordedAccess]
) -> list[AclBinding]:
    """Return ALLOWs without which, all together, each allowed access remains allowed, sorted."""
    allowed = [access for access in accesses if access.allowed]
    snapshot = snapshot_of(bindings)
    unneeded = []
    for binding in sorted(set(bindings)):
        if binding.entry.permission_type is not AclPermissionType.ALLOW:
            continue
        smaller = snapshot.without((binding,))
        if all(_allows(smaller, access) for access in allowed if _may_concern(binding, access)):
            unneeded.append(binding)
            snapshot = smaller
    return unneeded


def _allows(snapshot: Snapshot, access: RecordedAccess) -> bool:
    principal, host, operation, resource_type, _ = access.question
    if not access.on_any:
        return allows(_NO_POLICY, snapshot, access.question)
    return allowed_on_some(
        snapshot, resource_type, operation, principal=principal, host=host
    ) or allows(_NO_POLICY, snapshot, cluster_question(access.question))


def _may_concern(binding: AclBinding, access: RecordedAccess) -> bool:
    of_type = binding.pattern.resource_type
    return of_type is access.question.resource_type or (
        access.on_any and of_type is ResourceType.CLUSTER
    )


def _need(access: RecordedAccess) -> Need:
    principal, _, operation, resource_type, name = access.question
    return Need(
        principal,
        WILDCARD,
        resource_type,
        name,
        operation,
        access.uses,
        access.first,
        access.first,
    )


def _without_resource(
    accesses: Sequence[RecordedAccess], needs: Sequence[Need]
) -> list[RecordedAccess]:
    """Return accesses to any topic by principals that need no topic with this operation.

    As accesses to the cluster: IDEMPOTENT_WRITE is what a broker asks for first (InitProducerId).
    """
    held = {(need.principal, need.resource_type, need.operation) for need in needs}
    return [
        replace(access, question=cluster_question(access.question), on_any=False)
        for access in accesses
        if access.on_any
        and (access.question.principal, access.question.resource_type, access.question.operation)
        not in held
    ]


def cluster_question(question: Question) -> Question:
    """Return the question of the cluster that a request for WRITE on any topic follows."""
    return question._replace(
        operation=AclOperation.IDEMPOTENT_WRITE,
        resource_type=ResourceType.CLUSTER,
        name=CLUSTER_NAME,
    )


def _reasons(
    privilege: Privilege, accesses: Iterable[RecordedAccess]
) -> tuple[RecordedAccess, ...]:
    (resource_type, name, _), entry = privilege.binding
    reasons = []
    for access in accesses:
        question = cluster_question(access.question) if access.on_any else access.question
        if (
            (question.principal, question.resource_type, question.name)
            == (entry.principal, resource_type, name)
        ) and satisfied_by(question.operation, entry.operation):
            reasons.append(access)
    return tuple(
        sorted(
            reasons,
            key=lambda access: (
                access.question.operation is not entry.operation,
                -access.uses,
                access.first,
                access.api,
            ),
        )
    )


def reasons_text(reasons: Iterable[RecordedAccess]) -> str:
    """Return the requests behind an ACL: ``Produce: WRITE (3 times); first at 12:00:00Z``."""
    counts: Counter[tuple[str, str]] = Counter()
    times: list[dt.datetime] = []
    for reason in reasons:
        what = reason.question.operation.name
        if reason.on_any:
            what += f" on any {reason.question.resource_type.name.lower()}"
        counts[reason.api, what] += reason.uses
        times.append(reason.first)
    parts = [
        f"{api}: {what} ({count} {'time' if count == 1 else 'times'})"
        for (api, what), count in counts.items()
    ]
    first = min(times).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"{', '.join(parts)}; first at {first}"
