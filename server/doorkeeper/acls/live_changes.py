"""The rules of a change of ACLs on a cluster that serves clients while it is changed.

A change is a set of ACLs to add and one to remove. ``judge`` divides it into stages, which are sent
one after the other, and into what is held back, with the reason:

    rule        holds back                                                  overridden by
    SIZE        all removals, where they are too many or too large a share  size
    NETWORKS    ACLs whose network the cluster would compare as text, and   networks
                what grants more than a DENY of such a network would leave
    LOCK_OUT    what takes ALTER or DESCRIBE on the cluster from the login  lock-out
    OPEN        the removal of the last ACL of a resource, where a resource
                without ACLs is open to everyone                            open
    ORDER       what would grant more before the DENY or the removal that
                limits it is in force                                       (nothing)

The stages are: add DENY, add ALLOW, remove ALLOW, remove DENY. For whatever was sent of them, no
request is allowed that neither the ACLs before nor those after allow: until the last stage each
DENY of both sides is there, in the last one no ALLOW but those of the end.
A permission of both sides is never interrupted, unless a resource without ACLs is open.

Where the cluster refuses a part, the rest is judged again with the refused ACLs in ``failed``.
Nothing here reads or writes: facts about the cluster come with the call.
"""

from __future__ import annotations

from collections import defaultdict
from enum import Enum
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct

from doorkeeper.acls.bulk import snapshot_of
from doorkeeper.acls.cases import clients_within
from doorkeeper.acls.decision import Policy, Question, allows
from doorkeeper.acls.model import (
    CLUSTER_NAME,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclOperation,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acls.networks import network_of
from doorkeeper.acls.regions import (
    WILD,
    Extent,
    common_names,
    is_asked_about,
    names_of,
    overlap,
    region_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from collections.abc import Set as AbstractSet

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.regions import Region

    Bindings = frozenset[AclBinding]
    Administrators = Callable[[str, AclOperation], set[str]]


class Rule(Enum):
    """A reason to hold changes back; the value is its word, which overrides most of them."""

    SIZE = "size"
    NETWORKS = "networks"
    LOCK_OUT = "lock-out"
    OPEN = "open"
    ORDER = "order"
    # These are about the owner and the past of a cluster, which ``doorkeeper.sync`` knows.
    OWNER = "owner"
    FOREIGN = "foreign"
    REFUSED = "refused"
    RIVAL = "rival"


OVERRIDES: Final = {
    Rule.SIZE: "remove many ACLs at once",
    Rule.NETWORKS: "send networks to a cluster that compares hosts as strings",
    Rule.LOCK_OUT: "remove your own right to administer the cluster",
    Rule.OPEN: "remove the last ACL of a resource, which opens it to everyone",
}
"""What each override risks. OWNER has none, for the file of clusters names the store, and ORDER has
none, for the end is reached without it. What is about the past has a key of that file, or ends."""

NOTHING: Final[Bindings] = frozenset()

_SHARE_FROM: Final = 10
"""Up to so many removals are no large share of anything: small sets change as a whole."""

_NAMES_SHOWN: Final = 3
_DENIES: Final = attrgetter("denies")

_ADMINISTRATION: Final = (AclOperation.ALTER, AclOperation.DESCRIBE)
"""What CreateAcls and DeleteAcls ask for, and DescribeAcls, on the cluster."""

_OTHER_PRINCIPAL: Final = "User:\0"
"""A principal that no ACL names."""


class LiveCluster(Struct, frozen=True):
    """What is known of a cluster; None for what is not."""

    matches_networks: bool | None = True
    """Whether its release matches networks (metadata.version 4.4 and later)."""

    open_by_default: bool | None = False
    """``allow.everyone.if.no.acl.found``."""

    logins: tuple[str, ...] | None = ()
    """The principals that administer it and must go on: ``type:name``."""

    login_doubt: str = ""
    """Why a broker may take these logins for other principals; empty if it does not."""


class RemovalLimits(Struct, frozen=True):
    """How many ACLs may be removed at once, as a number and as a share of those that are there."""

    number: int = 100
    share: float = 0.5
    scope: int | None = None
    """How many ACLs the share is of; None is for all that are present."""


class Stage(NamedTuple):
    """ACLs of one permission type that are added, or removed, together; in order."""

    adds: bool
    bindings: tuple[AclBinding, ...]


class Held(Struct, frozen=True):
    """Changes that are not made, and why."""

    rule: Rule
    bindings: Bindings
    reason: str

    def text(self, override: str) -> str:
        """Return the reason, and how to make the change all the same: ``override`` of the word."""
        if self.rule not in OVERRIDES:
            return self.reason
        return f"{self.reason} (to {OVERRIDES[self.rule]}: {override.format(self.rule.value)})"


class LiveChange(Struct, frozen=True):
    """The stages to send, in this order, what is held back, and what may be a risk."""

    stages: tuple[Stage, ...] = ()
    held: tuple[Held, ...] = ()
    warnings: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.stages)


def judge(
    present: AbstractSet[AclBinding],
    added: Iterable[AclBinding],
    removed: Iterable[AclBinding],
    cluster: LiveCluster,
    *,
    limits: RemovalLimits | None = None,
    accepted: AbstractSet[Rule] = frozenset(),
    failed: AbstractSet[AclBinding] = frozenset(),
) -> LiveChange:
    """Return what may be sent of a change.

    ``present`` are all ACLs of the cluster, or those of the scope that is changed: the rules see no
    others. ``limits`` of None permit any number of removals. ``failed`` were refused by the cluster
    before. ``accepted`` are the rules that do not apply.
    """
    return _Judgement(present, added, removed, cluster, limits, accepted, failed).change()


def stages(added: Iterable[AclBinding], removed: Iterable[AclBinding]) -> Iterator[Stage]:
    """Yield the stages of a change, in the order in which they are sent."""
    of_changes = [set(added), set(removed)]
    for adds, deny in ((True, True), (True, False), (False, False), (False, True)):
        chosen = sorted(binding for binding in of_changes[not adds] if binding.denies is deny)
        if chosen:
            yield Stage(adds, tuple(chosen))


def unenforced(bindings: Iterable[AclBinding], cluster: LiveCluster) -> Bindings:
    """Return the ACLs that the cluster stores and does not honour: those of networks."""
    if cluster.matches_networks:
        return NOTHING
    return frozenset(
        binding
        for binding in bindings
        if "/" in binding.entry.host and network_of(binding.entry.host)
    )


def binding_text(binding: AclBinding) -> str:
    (resource_type, name, pattern_type), entry = binding
    return (
        f"{entry.permission_type.name} {entry.operation.name} on {pattern_type.name}"
        f" {resource_type.name} {name!r} for {entry.principal} from {entry.host}"
    )


class _Judgement:
    """The state of one call; the arguments are those of ``judge``."""

    def __init__(
        self,
        present: AbstractSet[AclBinding],
        added: Iterable[AclBinding],
        removed: Iterable[AclBinding],
        cluster: LiveCluster,
        limits: RemovalLimits | None,
        accepted: AbstractSet[Rule],
        failed: AbstractSet[AclBinding],
    ) -> None:
        self._present, self._cluster = present, cluster
        self._limits, self._accepted = limits, accepted
        self._at_the_end = set(added)
        """What the end adds, refused or not."""
        gone = set(removed)
        self._added = self._at_the_end - present - failed
        self._removed = (gone & present) - failed
        self._held: list[Held] = []
        self._warnings: list[str] = []
        self._stuck = set(failed)
        """What is not changed: neither added where it lacks, nor removed where it is."""
        # Those that go limit nothing at the end either.
        leaving = gone - self._at_the_end
        staying = (binding for binding in present if binding not in leaving)
        self._ignored_denies = set(filter(_DENIES, unenforced(staying, cluster)))

    def change(self) -> LiveChange:
        rules: tuple[tuple[Rule, Callable[[], None]], ...] = (
            (Rule.SIZE, self._size),
            (Rule.NETWORKS, self._networks),
            (Rule.OPEN, self._open),
            (Rule.LOCK_OUT, self._lock_out),
            (Rule.ORDER, self._order),
        )
        # What one rule holds back may be what another one counted on.
        size = -1
        while size != len(self._held):
            size = len(self._held)
            for rule, apply in rules:
                is_checked = rule is Rule.OPEN or rule not in self._accepted
                if is_checked and (self._added or self._removed):
                    apply()
        return LiveChange(
            tuple(stages(self._added, self._removed)),
            tuple(self._held),
            tuple(dict.fromkeys(self._warnings)),
        )

    def _hold(self, rule: Rule, bindings: Iterable[AclBinding], reason: str) -> None:
        held = frozenset(bindings)
        if not held:
            return
        self._stuck |= held
        self._added -= held
        self._removed -= held
        self._held.append(Held(rule, held, reason))

    def _hold_each(self, rule: Rule, bindings: Iterable[AclBinding], reason: str) -> None:
        """Hold ACLs back for a reason that begins with their number, and ends with one of them."""
        if held := frozenset(bindings):
            count = "1 ACL" if len(held) == 1 else f"{len(held)} ACLs"
            self._hold(rule, held, f"{count} {reason}, for example {binding_text(min(held))}")

    # --- the rules

    def _size(self) -> None:
        limits = self._limits
        if limits is None:
            return
        count = len(self._removed)
        whole = len(self._present) if limits.scope is None else limits.scope
        if count > limits.number:
            text = f"{count} ACLs would be removed; the limit is {limits.number}"
            self._hold(Rule.SIZE, self._removed, text)
        elif count > _SHARE_FROM and count > limits.share * whole:
            self._hold(
                Rule.SIZE,
                self._removed,
                f"{count} of {whole} ACLs would be removed; the limit is {limits.share:.0%} of"
                " them",
            )

    def _networks(self) -> None:
        is_unknown = self._cluster.matches_networks is None
        why = (
            f"the cluster's release {'may compare' if is_unknown else 'compares'} hosts as"
            " strings (Kafka before 4.4)"
        )
        unenforced_acls = unenforced(self._added, self._cluster)
        self._hold_each(Rule.NETWORKS, unenforced_acls, f"with a network as host: {why}")
        ignored = _Regions(self._ignored_denies)
        limited = {
            binding for binding in self._added if not binding.denies and ignored.meet(binding)
        }
        removals = self._removed - unenforced(self._removed, self._cluster)
        limited |= {binding for binding in removals if binding.denies and ignored.meet(binding)}
        text = f"would allow requests that only a DENY for a network restricts: {why}"
        self._hold_each(Rule.NETWORKS, limited, text)

    def _open(self) -> None:
        if self._cluster.open_by_default is False or not self._removed:
            return
        left = (self._present - self._removed) | self._added
        index = {binding.pattern for binding in left}
        opened = {
            pattern
            for pattern in {binding.pattern for binding in self._removed}
            if self._has_open_names(pattern, index)
        }
        is_unknown = self._cluster.open_by_default is None
        if is_unknown or Rule.OPEN in self._accepted:
            # Accepted is what the end opens, not what a refused addition would have kept closed.
            lacking = {binding.pattern for binding in self._at_the_end - left}
            early = {
                pattern
                for pattern in opened
                if any(self._has_open_names(pattern, index, of=other) for other in lacking)
            }
            self._hold(
                Rule.ORDER,
                (binding for binding in self._removed if binding.pattern in early),
                f"{_names(early)} would have no ACL: the replacements of the last ones are not in"
                " force",
            )
            opened -= early
        if not opened or Rule.OPEN in self._accepted:
            return
        last = f"the last ACL of {_names(opened)} would be removed"
        if is_unknown:
            self._warnings.append(
                f"{last}; allow.everyone.if.no.acl.found, which would open them to everyone,"
                " could not be read"
            )
            return
        self._hold(
            Rule.OPEN,
            (binding for binding in self._removed if binding.pattern in opened),
            f"{last}, and allow.everyone.if.no.acl.found=true opens them to everyone",
        )

    @staticmethod
    def _has_open_names(
        pattern: ResourcePattern,
        patterns: AbstractSet[ResourcePattern],
        of: ResourcePattern | None = None,
    ) -> bool:
        """Return whether some names of a pattern, and of another one, are in no other pattern."""
        if not is_asked_about(pattern):
            return False
        names: Extent | None = names_of(pattern)
        if of is not None:
            is_same_type = of.resource_type is pattern.resource_type
            names = common_names(names_of(pattern), names_of(of)) if is_same_type else None
        return names is not None and not _is_covered(names, pattern.resource_type, patterns)

    def _lock_out(self) -> None:
        changed = {binding for binding in self._added | self._removed if _is_of_cluster(binding)}
        if not changed or self._cluster.logins == ():
            return
        before = frozenset(filter(_is_of_cluster, self._present))
        after = (before - self._removed) | (self._added & changed)
        hosts = clients_within(
            WILDCARD,
            frozenset(binding.entry.host for binding in before | after),
            networks=self._cluster.matches_networks is not False,
        )
        had, has = self._administrators(before, hosts), self._administrators(after, hosts)
        for login in self._logins(before | after, had):
            lost = [
                operation
                for operation in _ADMINISTRATION
                if had(login, operation) - has(login, operation)
            ]
            if not lost:
                continue
            who = "somebody" if login == _OTHER_PRINCIPAL else login
            concerned = (login, WILDCARD_PRINCIPAL)
            takes = {
                binding for binding in changed if binding.entry.principal in concerned
            } or changed
            self._hold(
                Rule.LOCK_OUT,
                takes,
                f"{who} would lose {' and '.join(operation.name for operation in lost)} on the"
                f" cluster{self._doubt()}",
            )
            return

    def _doubt(self) -> str:
        if self._cluster.logins is None:
            return ", and the principal of this login is unknown"
        return f" ({self._cluster.login_doubt})" if self._cluster.login_doubt else ""

    def _logins(self, acls: AbstractSet[AclBinding], had: Administrators) -> Iterable[str]:
        known = self._cluster.logins
        # A login that the ACLs do not allow, and that can read them, has another name there, or
        # the right another way.
        if known and self._cluster.login_doubt:
            may = any(had(login, operation) for login in known for operation in _ADMINISTRATION)
            known = known if may else None
        if known is not None:
            return known
        # Any of those that ACLs name may be the login, or one that "User:*" stands for.
        named = {binding.entry.principal for binding in acls} - {WILDCARD_PRINCIPAL}
        return (*sorted(named), _OTHER_PRINCIPAL)

    def _administrators(
        self, acls: AbstractSet[AclBinding], hosts: Iterable[str]
    ) -> Administrators:
        """Return a function: the hosts from which these ACLs allow a login an operation."""
        policy = Policy(allow_everyone=self._cluster.open_by_default is True)
        networks = self._cluster.matches_networks is not False
        snapshot = snapshot_of(acls, networks=networks)

        def hosts_of(login: str, operation: AclOperation) -> set[str]:
            questions = (
                Question(login, host, operation, ResourceType.CLUSTER, CLUSTER_NAME)
                for host in hosts
            )
            return {question.host for question in questions if allows(policy, snapshot, question)}

        return hosts_of

    def _order(self) -> None:
        # What limits others and will not be there, or will not be gone.
        missing = (binding for binding in self._stuck - self._present if binding.denies)
        remaining = (binding for binding in self._stuck & self._present if not binding.denies)
        denies = _Regions(missing)
        added = (binding for binding in self._added if not binding.denies)
        waiting = set(filter(denies.meet, added))
        self._hold_each(Rule.ORDER, waiting, "to allow must wait until a DENY is in force")
        removals = list(filter(_DENIES, self._removed))
        # Many removals may be held, whose regions most changes do not need.
        allows_ = _Regions(remaining if removals else ())
        waiting = {binding for binding in removals if denies.meet(binding) or allows_.meet(binding)}
        text = "to deny must stay until the ALLOWs that they restrict are removed"
        self._hold_each(Rule.ORDER, waiting, text)


def _is_covered(
    names: Extent, resource_type: ResourceType, patterns: AbstractSet[ResourcePattern]
) -> bool:
    """Return whether one of the patterns has all these names. O(length of a name)."""

    def has(name: str, pattern_type: PatternType) -> bool:
        return ResourcePattern(resource_type, name, pattern_type) in patterns

    if WILD.contains(names) and has(WILDCARD, PatternType.LITERAL):
        return True
    if names.is_single and names.text != WILDCARD and has(names.text, PatternType.LITERAL):
        return True
    lengths = range(len(names.text) + 1)
    return any(has(names.text[:length], PatternType.PREFIXED) for length in lengths)


class _Regions:
    """Finds whether a binding concerns any question that one of some bindings concerns."""

    def __init__(self, bindings: Iterable[AclBinding]) -> None:
        self._everyones: defaultdict[ResourceType, list[Region]] = defaultdict(list)
        self._by_principal: defaultdict[tuple[ResourceType, str], list[Region]] = defaultdict(list)
        self._all: defaultdict[ResourceType, list[Region]] = defaultdict(list)
        for binding in bindings:
            region = region_of(binding)
            self._all[region.resource_type].append(region)
            if region.principal == WILDCARD_PRINCIPAL:
                self._everyones[region.resource_type].append(region)
            else:
                self._by_principal[region.resource_type, region.principal].append(region)

    def meet(self, binding: AclBinding) -> bool:
        region = region_of(binding)
        kind = region.resource_type
        if region.principal == WILDCARD_PRINCIPAL:
            candidates = self._all[kind]
        else:
            candidates = [*self._everyones[kind], *self._by_principal[kind, region.principal]]
        return any(overlap(region, other, networks=True) for other in candidates)


def _is_of_cluster(binding: AclBinding) -> bool:
    return binding.pattern.resource_type is ResourceType.CLUSTER and is_asked_about(binding.pattern)


def _names(patterns: AbstractSet[ResourcePattern]) -> str:
    shown = sorted(patterns)[:_NAMES_SHOWN]
    names = ", ".join(f"{pattern.resource_type.name} {pattern.name!r}" for pattern in shown)
    more = len(patterns) - len(shown)
    return f"{names} and {more} more" if more else names
