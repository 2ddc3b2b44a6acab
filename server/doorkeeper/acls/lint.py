"""Checks a set of ACLs; each finding has a code, a reason, its bindings and a fix.

The errors (E001 to E007) are redundant bindings, determined exactly, see ``necessity``: removing
all of them changes no decision. The warnings (W001 to W013) are probable mistakes or risks.
``CODES`` has all of them, and ``docs/reference/lint-rules.md`` their meaning.
"""

from __future__ import annotations

from bisect import bisect_left
from enum import Enum
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from doorkeeper.acls.by_type import allowed_on_some, clients_of, may_write_some_topic
from doorkeeper.acls.host_sets import HostTable
from doorkeeper.acls.hosts import java_host
from doorkeeper.acls.misleading_names import misleading_name, misleading_principal
from doorkeeper.acls.model import (
    ANONYMOUS,
    ANY_BINDING,
    CLUSTER_NAME,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acls.necessity import Cause, networks_of, removable
from doorkeeper.acls.networks import address_of, network_of
from doorkeeper.acls.operations import effects
from doorkeeper.acls.regions import is_asked_about
from doorkeeper.acls.search import find

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from doorkeeper.acls.decision import Policy
    from doorkeeper.acls.misleading_names import Misleading
    from doorkeeper.acls.network_index import Networks
    from doorkeeper.acls.networks import Network
    from doorkeeper.acls.snapshot import Snapshot


class Severity(Enum):
    """The severity of a finding."""

    ERROR = "error"
    WARNING = "warning"


class Fix(Struct, frozen=True):
    """A fix in words, and as a change; the change is empty if the intention is unclear."""

    words: str
    added: tuple[AclBinding, ...] = ()
    removed: tuple[AclBinding, ...] = ()


class Finding(Struct, frozen=True):
    """One finding. ``bindings`` begins with the faulty one."""

    code: str
    title: str
    reason: str
    bindings: tuple[AclBinding, ...]
    fix: Fix

    @property
    def severity(self) -> Severity:
        """Return ERROR for a redundant binding, WARNING for a probable mistake."""
        return Severity.ERROR if self.code.startswith("E") else Severity.WARNING


_CAUSES = {
    Cause.NO_EFFECT: ("E001", "no effect"),
    Cause.SUPER_USER: ("E002", "super user"),
    Cause.SHADOWED: ("E003", "shadowed"),
    Cause.COVERED: ("E004", "redundant"),
    Cause.NOTHING_TO_DENY: ("E005", "nothing to deny"),
    Cause.DEFAULT: ("E006", "allowed by default"),
    Cause.NO_RESOURCE: ("E007", "no resource"),
}
_REMOVE = "remove it"
_UNLESS = {Cause.NOTHING_TO_DENY: f"{_REMOVE}, unless it is meant to override a future ALLOW"}

_DESCRIBE = AclOperation.DESCRIBE
_DESCRIBED_WITH = {
    ResourceType.TOPIC: (AclOperation.WRITE, AclOperation.READ),
    ResourceType.TRANSACTIONAL_ID: (AclOperation.WRITE,),
}
"""The operations beside which kafka-acls.sh --producer and --consumer add DESCRIBE."""

CODES = {
    **dict(_CAUSES.values()),
    "W001": "contradiction",
    "W002": "prefixed asterisk",
    "W003": "malformed principal type",
    "W004": "asterisk in principal",
    "W005": "host not in Kafka's format",
    "W006": "everyone",
    "W007": "group missing",
    "W008": "no credentials",
    "W009": "no topic",
    "W010": "administrator",
    "W011": "misleading resource name",
    "W012": "misleading principal name",
    "W013": "not needed",
}
"""All codes, with their titles."""


class KnownNames(Struct, frozen=True):
    """Users and topics that exist; None where they are not known.

    ``users`` are names, without ``User:``.
    """

    users: frozenset[str] | None = None
    topics: frozenset[str] | None = None


NOTHING_KNOWN = KnownNames()


def lint(
    policy: Policy,
    snapshot: Snapshot,
    codes: Collection[str] = frozenset(CODES),
    *,
    implied: bool = True,
    accepts: Callable[[str, AclBinding], bool] | None = None,
    known: KnownNames = NOTHING_KNOWN,
) -> list[Finding]:
    """Return the findings with these codes, sorted by code, then by binding.

    All bindings with E codes can be removed together, for any selection of codes. Without
    ``implied`` the DESCRIBE is no finding that ``kafka-acls.sh --producer`` and ``--consumer`` add
    beside WRITE and READ. ``accepts`` says whether a finding with a code is accepted for a binding.
    Without users or topics in ``known`` there are no findings about them.
    """
    bindings = find(snapshot, ANY_BINDING)
    companions = {} if implied else _companions(bindings)

    def is_left_out(code: str, binding: AclBinding) -> bool:
        return code not in codes or (accepts is not None and accepts(code, binding))

    def stays(binding: AclBinding, cause: Cause) -> bool:
        is_companion = cause is Cause.COVERED and binding in companions
        return is_companion or is_left_out(_CAUSES[cause][0], binding)

    while True:
        redundant = removable(policy, snapshot, stays)
        removed = {result.binding for result in redundant}
        # A DESCRIBE is a finding where nothing that it was added beside stays.
        alone = [there for there, beside in companions.items() if removed.issuperset(beside)]
        if not alone:
            break
        for describe in alone:
            del companions[describe]
    findings = [
        Finding(*_CAUSES[cause], cause.value, (binding, *because),
                Fix(_UNLESS.get(cause, _REMOVE), removed=(binding,)))
        for binding, cause, because in redundant
    ]  # fmt: skip
    findings += _contradictions(bindings, networks_of(snapshot))
    for binding in bindings:
        if (finding := _host(binding, networks=snapshot.matches_networks)) is not None:
            findings.append(finding)
        findings += (finding for rule in _RULES if (finding := rule(binding)) is not None)
    findings += _missing_groups(policy, snapshot, bindings)
    findings += _idempotent_writes(snapshot, bindings)
    if known.users is not None:
        findings += _without_credentials(policy, bindings, known.users)
    if known.topics is not None:
        findings += _without_topics(bindings, sorted(known.topics))
    # Rules are cheap: they run for all codes, and the findings are selected here.
    chosen = [finding for finding in findings if not is_left_out(finding.code, finding.bindings[0])]
    return sorted(chosen, key=lambda finding: (finding.code, finding.bindings))


def _companions(bindings: Sequence[AclBinding]) -> dict[AclBinding, tuple[AclBinding, ...]]:
    """Return each DESCRIBE that the tool adds, with the bindings that it is added beside."""
    present = set(bindings)
    companions = {}
    for pattern, entry in bindings:
        operations = _DESCRIBED_WITH.get(pattern.resource_type, ())
        if (entry.operation, entry.permission_type) != (_DESCRIBE, AclPermissionType.ALLOW):
            continue
        candidates = (
            AclBinding(pattern, entry._replace(operation=operation)) for operation in operations
        )
        if there := tuple(companion for companion in candidates if companion in present):
            companions[AclBinding(pattern, entry)] = there
    return companions


# --- rules about one binding


def _prefixed_asterisk(binding: AclBinding) -> Finding | None:
    pattern, entry = binding
    if pattern.pattern_type is not PatternType.PREFIXED or pattern.name != WILDCARD:
        return None
    # The cluster resource has a single name.
    name = CLUSTER_NAME if pattern.resource_type is ResourceType.CLUSTER else WILDCARD
    meant = ResourcePattern(pattern.resource_type, name, PatternType.LITERAL)
    return _warning(
        "W002",
        "PREFIXED * matches only names that begin with an asterisk; LITERAL * matches all names",
        binding,
        fix=Fix(f"make it LITERAL {name}", (AclBinding(meant, entry),), (binding,)),
    )


def _principal_type(binding: AclBinding) -> Finding | None:
    principal = binding.entry.principal
    principal_type, colon, name = principal.partition(":")
    if not (name if colon else principal):
        reason = "the principal has no name"
        return _warning("W003", reason, binding, fix=Fix("write the principal's name"))
    if not colon:
        reason, name = "the principal has no type", principal
    elif not principal_type:
        reason = "the principal's type is empty"
    # Any other type may come from a principal builder of the site's own.
    elif principal_type != "User" and principal_type.lower() == "user":
        reason = f"the principal type is case-sensitive: User, not {principal_type}"
    else:
        return None
    return _warning("W003", reason, binding, fix=_other(binding, principal=f"User:{name}"))


def _principal_star(binding: AclBinding) -> Finding | None:
    principal = binding.entry.principal
    if WILDCARD not in principal or principal == WILDCARD_PRINCIPAL:
        return None
    return _warning(
        "W004",
        "only User:* is a wildcard; elsewhere in a principal, an asterisk is an ordinary character",
        binding,
        fix=Fix("create one ACL for each principal"),
    )


def _host(binding: AclBinding, *, networks: bool) -> Finding | None:
    host = binding.entry.host
    if host == WILDCARD:
        return None
    if networks and "/" in host:
        return _network(binding, network_of(host))
    written = java_host(host)
    if written is None:
        return _warning(
            "W005",
            "hosts are compared as strings with the client's address; a host name or network never"
            " matches",
            binding,
            fix=Fix("create one ACL for each address"),
        )
    # Java writes addresses in one form, and Kafka compares texts: any other form never matches.
    if host == written:
        return None
    return _warning(
        "W005",
        f"Kafka formats this address as {written}",
        binding,
        fix=_other(binding, host=written),
    )


def _network(binding: AclBinding, network: Network | None) -> Finding | None:
    if network is None:
        return _warning(
            "W005", "this host contains a slash but is not a valid network, so it never matches",
            binding, fix=Fix("write the network as address/length, such as 10.0.0.0/8"),
        )  # fmt: skip
    written = address_of(binding.entry.host.partition("/")[0].strip("[]"))
    if written is None or written.first == network.first:
        return None
    return _warning(
        "W005", f"the prefix length determines the network: this is all of {network}",
        binding, fix=_other(binding, host=str(network)),
    )  # fmt: skip


def _everyone(binding: AclBinding) -> Finding | None:
    entry = binding.entry
    if entry.principal != WILDCARD_PRINCIPAL or not _is_asked_allow(binding):
        return None
    anonymous = "" if entry.host != WILDCARD else ", including anonymous clients"
    reason = f"this grants access to everyone{anonymous}"
    return _warning(
        "W006", reason, binding, fix=Fix("grant it only to the principals that need it")
    )


def _administrator(binding: AclBinding) -> Finding | None:
    entry = binding.entry
    may = {
        AclOperation.ALTER: "change ACLs and users",
        AclOperation.CLUSTER_ACTION: "act as a broker",
        AclOperation.ALL: "change ACLs and users and act as a broker",
    }.get(entry.operation)
    is_cluster = binding.pattern.resource_type is ResourceType.CLUSTER
    if may is None or not is_cluster or not _is_asked_allow(binding):
        return None
    reason = f"{entry.principal} may {may}, so it can grant itself every permission"
    return _warning(
        "W010",
        reason,
        binding,
        fix=Fix("accept the finding, or grant only the operations it needs"),
    )


def _is_asked_allow(binding: AclBinding) -> bool:
    """Say whether a binding allows what requests ask for."""
    is_allow = _is(binding, AclPermissionType.ALLOW)
    return is_allow and bool(effects(binding)) and is_asked_about(binding.pattern)


def _misleading(code: str, misleading: Misleading | None, binding: AclBinding) -> Finding | None:
    if misleading is None:
        return None
    reason, advice, meant = misleading
    fix = Fix(advice, meant, (binding,)) if meant else Fix(advice)
    return _warning(code, reason, binding, fix=fix)


_RULES: tuple[Callable[[AclBinding], Finding | None], ...] = (
    _prefixed_asterisk,
    _principal_type,
    _principal_star,
    _everyone,
    _administrator,
    lambda binding: _misleading("W011", misleading_name(binding), binding),
    lambda binding: _misleading("W012", misleading_principal(binding), binding),
)


# --- rules about several


def _contradictions(bindings: Iterable[AclBinding], networks: Networks | None) -> Iterator[Finding]:
    """Yield ALLOWs that a DENY on the same pattern overrides in part.

    All operations but some can only be written so: such a DENY is no contradiction.
    """
    every = AclOperation.ALL
    groups: dict[tuple[ResourcePattern, str], list[AclBinding]] = {}
    for binding in bindings:
        groups.setdefault((binding.pattern, binding.entry.principal), []).append(binding)
    for group in groups.values():
        denying = [binding for binding in group if _is(binding, AclPermissionType.DENY)]
        if not denying:
            continue
        table = HostTable(((binding.entry.host, binding) for binding in denying), networks)
        for allowing in group:
            if not _is(allowing, AclPermissionType.ALLOW):
                continue
            allowed = effects(allowing)
            against = [
                binding
                for binding in table.overlapping(allowing.entry.host)
                if not set(effects(binding)).isdisjoint(allowed)
                and (allowing.entry.operation is not every or binding.entry.operation is every)
            ]
            if against:
                yield _warning(
                    "W001",
                    "a DENY on the same pattern overrides it",
                    *(allowing, *sorted(against)),
                    fix=Fix(
                        "keep both if the DENY is an intended exception; otherwise remove one of"
                        " them"
                    ),
                )


def _idempotent_writes(snapshot: Snapshot, bindings: Iterable[AclBinding]) -> Iterator[Finding]:
    """Yield grants of IDEMPOTENT_WRITE that InitProducerId does not ask for.

    Source: KIP-679; ``KafkaApis.handleInitProducerIdRequest``.
    """
    for binding in bindings:
        principal, host, operation, _ = binding.entry
        if operation is not AclOperation.IDEMPOTENT_WRITE or principal == WILDCARD_PRINCIPAL:
            continue
        if not _is(binding, AclPermissionType.ALLOW) or not effects(binding):
            continue
        if may_write_some_topic(snapshot, principal, host):
            yield _warning(
                "W013",
                "since Kafka 2.8, IDEMPOTENT_WRITE is not needed by a principal with WRITE on a"
                f" topic, and {principal} has it",
                binding,
                fix=Fix(_REMOVE, removed=(binding,)),
            )


def _missing_groups(
    policy: Policy, snapshot: Snapshot, bindings: Iterable[AclBinding]
) -> Iterator[Finding]:
    """Yield principals that may read topics but, from there, no group; each with such a binding.

    A principal without a colon cannot exist. With ``allow.everyone.if.no.acl.found`` groups without
    ACLs are open.
    """
    if policy.allow_everyone:
        return
    topics, groups, read = ResourceType.TOPIC, ResourceType.GROUP, AclOperation.READ
    reading: dict[str, AclBinding] = {}
    for binding in bindings:
        principal, _, operation, _ = binding.entry
        if binding.pattern.resource_type is not topics or ":" not in principal:
            continue
        if operation in (read, AclOperation.ALL) and _is(binding, AclPermissionType.ALLOW):
            reading.setdefault(principal, binding)
    for principal, binding in reading.items():
        if principal in policy.super_users:
            continue
        clients = [
            client
            for client in clients_of(snapshot, principal, (topics, groups))
            if allowed_on_some(snapshot, topics, read, principal=principal, host=client)
        ]
        if clients and not any(
            allowed_on_some(snapshot, groups, read, principal=principal, host=client)
            for client in clients
        ):
            yield _warning(
                "W007",
                f"{principal} has READ on topics but not on any group; consumers that commit"
                " offsets need READ on their group",
                binding,
                fix=Fix(f"grant {principal} READ on its group"),
            )


def _without_credentials(
    policy: Policy, bindings: Iterable[AclBinding], users: Collection[str]
) -> Iterator[Finding]:
    """Yield grants of users without credentials; other types and super users are left out."""
    for binding in bindings:
        principal = binding.entry.principal
        kind, _, name = principal.partition(":")
        if kind != "User" or name in users or not _is(binding, AclPermissionType.ALLOW):
            continue
        if principal in policy.super_users or principal in (WILDCARD_PRINCIPAL, str(ANONYMOUS)):
            continue
        yield _warning(
            "W008",
            f"{principal} has no SCRAM credentials; it can log in only in another way, such as TLS"
            " or a token",
            binding,
            fix=Fix("create the user, or remove the ACL"),
        )


def _without_topics(bindings: Collection[AclBinding], topics: Sequence[str]) -> Iterator[Finding]:
    """Yield grants for topics that are not there; sorted ``topics``.

    A principal that may create the topic is one that will.
    """
    creating = {
        (binding.pattern, binding.entry.principal)
        for binding in bindings
        if AclOperation.CREATE in effects(binding) and _is(binding, AclPermissionType.ALLOW)
    }
    for binding in bindings:
        pattern, entry = binding
        if pattern.resource_type is not ResourceType.TOPIC or pattern.name == WILDCARD:
            continue
        if (pattern, entry.principal) in creating or not _is(binding, AclPermissionType.ALLOW):
            continue
        at = bisect_left(topics, pattern.name)
        near = topics[at] if at < len(topics) else ""
        is_prefix = pattern.pattern_type is PatternType.PREFIXED
        if near == pattern.name or (is_prefix and near.startswith(pattern.name)):
            continue
        description = f"begins with {pattern.name!r}" if is_prefix else f"is named {pattern.name!r}"
        yield _warning(
            "W009",
            f"no topic {description}",
            binding,
            fix=Fix("create the topic, or remove the ACL"),
        )


def _is(binding: AclBinding, permission_type: AclPermissionType) -> bool:
    return binding.entry.permission_type is permission_type


def _other(binding: AclBinding, **parts: Any) -> Fix:
    """Return the fix that writes the principal, or the host, in another way."""
    (written,) = parts.values()
    meant = binding._replace(entry=binding.entry._replace(**parts))
    return Fix(f"write {written}", (meant,), (binding,))


def _warning(code: str, reason: str, *bindings: AclBinding, fix: Fix) -> Finding:
    return Finding(code, CODES[code], reason, bindings, fix)
