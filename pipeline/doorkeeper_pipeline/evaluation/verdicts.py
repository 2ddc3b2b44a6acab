"""What a history says about one grant: keep it, ask somebody, or remove it; and why.

A removal is proposed only where every rule of the table ``RULES`` lets it pass. The first one that
does not gives the verdict and the reason. docs/reference/pipeline-reference.md says of each when it
holds.

What the rules know comes with the call; nothing here reads tables.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple
from unicodedata import normalize

from doorkeeper.acls.hosts import java_host
from doorkeeper.acls.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourceType,
)
from doorkeeper.acls.networks import network_of
from doorkeeper_pipeline.amounts import times
from doorkeeper_pipeline.evaluation.evidence import Thresholds
from doorkeeper_pipeline.evaluation.unread import NOTHING_UNREAD, UnreadLines
from doorkeeper_pipeline.evaluation.unused import NEVER_MATCHED, NEVER_USED


class Verdict(Enum):
    """What to do with a grant."""

    KEEP = "KEEP"
    NOT_ENOUGH_EVIDENCE = "NOT_ENOUGH_EVIDENCE"
    ASK = "ASK"
    REMOVE = "REMOVE"


class Judged(NamedTuple):
    """A verdict, the rule behind it, and the reason in words."""

    verdict: Verdict
    rule: str
    why: str


class Grant(NamedTuple):
    """A grant, and its use in the history.

    ``known_from`` is the time from which it is known to be there; None where nothing says it.
    ``given`` says that it is the time at which the grant was given, not that of a listing.
    ``unused`` is the reason of ``evaluation.unused``; empty where it was decisive.
    ``removable``: all that are so can go together without a change of any decision. ``closes``:
    without it a resource would have no ACL, and be open to everyone. ``names`` says why the names
    that it was used for cannot be listed (``evaluation.generated``); empty where they can.
    """

    binding: AclBinding
    known_from: dt.datetime | None
    given: bool
    uses: int
    last: dt.datetime | None
    unused: str
    removable: bool
    covered: int = 0
    names: str = ""
    closes: bool = False


class Activity(NamedTuple):
    """How many decisions of a principal were allowed and denied."""

    allowed: int = 0
    denied: int = 0


LOGGED_BY: Final[Mapping[AclOperation, frozenset[str]]] = {
    AclOperation.READ: frozenset({"", "Fetch", "FetchConsumer", "ShareFetch"}),
    AclOperation.WRITE: frozenset({"", "Produce"}),
    AclOperation.DESCRIBE: frozenset({"", "Metadata", "DescribeTopicPartitions"}),
}
"""Requests that clients make all the time; empty where lines name none.

A history without any of them has none of their kind: controllers log none, and audit topics leave
out kinds that their settings do not name (Confluent's produce, consume and describe events,
Redpanda's ``audit_enabled_event_types``).
"""


_EXAMPLES: Final = dict(zip(LOGGED_BY, ("Fetch", "Produce", "Metadata"), strict=True))


class Known(NamedTuple):
    """What is known for all grants.

    ``begin`` and ``end`` are the first and the last allowed decision, ``activity`` has all
    principals of the history, ``lost_lines`` says that lines of the log are missing, and
    ``brokers_missing`` which logs are. ``controllers_seen``: the history has a request that
    controllers decide, or needs none; ``controllers_span`` is the time from the first to the last
    of those that controllers get all the time, or None. ``logged`` are those of ``LOGGED_BY`` whose
    requests the history has. ``cluster_first`` are the principals that were allowed by an operation
    on the cluster, so that resources of a type were not asked about. ``networks``: hosts may be
    networks. ``is_shut`` says whether a DENY refuses all that an ALLOW allows, and ``uncovered``
    how much of the log is missing from a day on, if much is. ``forgotten`` is when names, and the
    uses that they had, were removed from the history.
    """

    begin: dt.datetime | None
    end: dt.datetime | None
    thresholds: Thresholds
    activity: Mapping[str, Activity]
    lacking: tuple[str, ...] = ()
    contradicted: frozenset[str] = frozenset()
    unread: UnreadLines = NOTHING_UNREAD
    listing: str = ""
    lost_lines: str = ""
    brokers_missing: str = ""
    controllers_seen: bool = True
    controllers_span: tuple[dt.datetime, dt.datetime] | None = None
    logged: frozenset[AclOperation] = frozenset(LOGGED_BY)
    cluster_first: Mapping[tuple[AclOperation, ResourceType], frozenset[str]] = MappingProxyType({})
    super_users: frozenset[str] = frozenset()
    networks: bool = True
    is_shut: Callable[[AclBinding], bool] = lambda _: False
    uncovered: Callable[[dt.date], str] = lambda _: ""
    forgotten: dt.datetime | None = None

    def days_of(self, grant: Grant) -> float:
        """Return the days of the history in which the grant is known to have been there."""
        begin = self.begin_of(grant)
        if begin is None or self.end is None:
            return 0
        return max((self.end - begin).total_seconds() / _DAY_S, 0)

    def begin_of(self, grant: Grant) -> dt.datetime | None:
        """Return the time from which the history can show the use of a grant, or None."""
        if self.begin is None or grant.known_from is None:
            return None
        return max(self.begin, grant.known_from)


_DAY_S: Final = 86_400

_ASKED_OFTEN: Final = frozenset(
    {
        (AclOperation.READ, ResourceType.TOPIC),
        (AclOperation.WRITE, ResourceType.TOPIC),
        (AclOperation.DESCRIBE, ResourceType.TOPIC),
        (AclOperation.READ, ResourceType.GROUP),
    }
)
"""What a client asks for with its requests; all else per start, or per creation.

To describe a group is to look for its coordinator and its offsets, when a client starts.
"""

_FORWARDED: Final = frozenset(
    {
        AclOperation.ALL,
        AclOperation.ALTER,
        AclOperation.ALTER_CONFIGS,
        AclOperation.CLUSTER_ACTION,
        AclOperation.CREATE,
        AclOperation.CREATE_TOKENS,
        AclOperation.DELETE,
    }
)

_LOGGED_WITH: Final = {
    **{operation: frozenset({operation}) for operation in LOGGED_BY},
    AclOperation.IDEMPOTENT_WRITE: frozenset({AclOperation.WRITE}),
    AclOperation.DESCRIBE_CONFIGS: frozenset({AclOperation.DESCRIBE}),
    AclOperation.ALL: frozenset(LOGGED_BY),
}
"""The operations whose requests are of the same kinds."""

_REFUSED_SHARE: Final = 0.25
"""Of the requests of a principal: one that is refused does not come to its other ones."""

_LISTING_MIN: Final = 10
_SEEN_SHARE: Final = 0.5

_PARTS: Final = re.compile(r"[\W_]+")
_NAME_END: Final = re.compile(r"[,@/]")
_GENERIC: Final = frozenset({"user", "cn", "ou", "o", "l", "st", "c", "dc", "com", "org", "net"})


def judge(grant: Grant, known: Known) -> Judged:
    """Return the verdict of the first rule that does not let a removal pass."""
    for name, verdict, rule in RULES:
        if why := rule(grant, known):
            return Judged(verdict, name, why)
    principal = grant.binding.entry.principal
    is_dormant = principal not in known.activity and principal != WILDCARD_PRINCIPAL
    why = _removal(grant, known, is_dormant=is_dormant)
    return Judged(Verdict.REMOVE, "dormant" if is_dormant else "unneeded", why)


def doubt_about(grant: Grant, known: Known) -> str:
    """Return why no narrower grant may stand in place of a used one; empty where it may.

    What it was not used for needs the same evidence as a grant that was not used.
    """
    unused = grant._replace(unused=NEVER_MATCHED, removable=True, uses=0)
    # One that others cover goes for as good a reason as its removal needs.
    cases = (unused, grant) if grant.removable else (unused,)
    rules = [rule for name, _, rule in RULES if name in _NARROWING]
    reasons = (rule(case, known) for case in cases for rule in rules)
    return next(filter(None, reasons), "")


def seen_too_few(principals: frozenset[str], activity: Mapping[str, Activity]) -> str:
    """Return a doubt about a listing most of whose principals are not in the history, or ''."""
    named = principals - {WILDCARD_PRINCIPAL}
    unseen = len(named - activity.keys())
    if len(named) < _LISTING_MIN or unseen <= (1 - _SEEN_SHARE) * len(named):
        return ""
    return (
        f"{unseen} of the {len(named)} principals with ACLs never appear in the history; check"
        " that the log is from this cluster"
    )


def namesake(principal: str, activity: Mapping[str, Activity]) -> str:
    """Return the first principal of a history whose name has the same words or letters, or ''.

    A broker whose encoding lacks a letter writes ``?`` in its place, some collectors U+FFFD.
    """
    words, letters = _words(principal), _letters(principal)
    in_ascii = principal.encode("ascii", "replace").decode()
    for other in sorted(activity):
        if in_ascii != principal and other.replace("\ufffd", "?") == in_ascii:
            return other
        others = _words(other)
        if words and others and (words <= others or others <= words):
            return other
        if letters and letters == _letters(other):
            return other
    return ""


def _host(grant: Grant, known: Known) -> str:
    reason = never_matches(grant.binding.entry.host, networks=known.networks)
    if grant.uses or not reason:
        return ""
    allows = grant.binding.entry.permission_type is AclPermissionType.ALLOW
    effect = "it allows nothing" if allows else "this DENY denies nothing"
    return f"{effect}: {reason}; check the intended host"


def _deny(grant: Grant, _known: Known) -> str:
    if grant.binding.entry.permission_type is AclPermissionType.ALLOW:
        return ""
    if grant.uses:
        return f"a DENY that denied {times(grant.uses)}, last on {_day(grant.last)}"
    return "an unused DENY may still deny a future request"


def _used(grant: Grant, _known: Known) -> str:
    if grant.removable:
        return ""
    used = f"used {times(grant.uses)}, last on {_day(grant.last)}"
    if grant.closes or not (grant.uses or grant.unused):
        opened = "without it, a resource would be open to everyone"
        return f"{used}; {opened}" if grant.uses else opened
    if not grant.uses:
        return "unused, but a removal would change decisions of the history"
    if grant.unused:
        return f"{used}; others allow the same, but this one is the narrowest"
    return f"{used}; {_keep_pattern(grant)}" if grant.names else used


def _keep_pattern(grant: Grant) -> str:
    return f"{grant.names}: keep the pattern" if grant.names else ""


def _doubt(grant: Grant, known: Known) -> str:
    principal = grant.binding.entry.principal
    if not known.contradicted or principal not in (*known.contradicted, WILDCARD_PRINCIPAL):
        return ""
    who = "some principals" if principal == WILDCARD_PRINCIPAL else principal
    return f"decisions of {who} contradict the ACLs"


def _unread(grant: Grant, known: Known) -> str:
    principal = grant.binding.entry.principal
    if principal == WILDCARD_PRINCIPAL and any(known.unread):
        return "unreadable lines may be uses"
    if principal in known.unread.principals:
        return f"ambiguous lines of {principal} may be uses"
    return ""


def _brokers(grant: Grant, known: Known) -> str:
    if known.brokers_missing or not _is_decided_by_controllers(grant.binding):
        return known.brokers_missing
    missing = _missing_of_controllers(grant, known)
    return missing and (
        f"controllers authorize {grant.binding.entry.operation.name}, but {missing}; check that"
        " their logs were read"
    )


def _missing_of_controllers(grant: Grant, known: Known) -> str:
    """Return what the history lacks of the requests that controllers authorize, or ''."""
    if not known.controllers_seen:
        return "the history has no request that they authorize"
    begin, end = known.begin_of(grant) or known.begin, known.end
    if known.controllers_span is None or begin is None or end is None or begin >= end:
        return ""
    first, last = known.controllers_span
    covered = (min(last, end) - max(first, begin)) / (end - begin)
    if 100 * covered >= known.thresholds.coverage:
        return ""
    return f"the history has requests that they authorize from {_day(first)} to {_day(last)} only"


def _requests(grant: Grant, known: Known) -> str:
    missing = _LOGGED_WITH.get(grant.binding.entry.operation, frozenset()) - known.logged
    if not (missing or known.logged or _is_decided_by_controllers(grant.binding)):
        missing = frozenset(LOGGED_BY)
    if not missing:
        return ""
    names = ", ".join(name for operation, name in _EXAMPLES.items() if operation in missing)
    return (
        f"the history has no requests of clients such as {names}; check that they are logged (audit"
        " topics leave kinds of them out, and controllers have none)"
    )


def _is_decided_by_controllers(binding: AclBinding) -> bool:
    """Say whether brokers forward what an ACL is for: changes, but those of groups.

    Source: ``forwardToController`` in ``KafkaApis`` (4.3.1).
    """
    resource_type = binding.pattern.resource_type
    return binding.entry.operation in _FORWARDED and resource_type not in (
        ResourceType.GROUP,
        ResourceType.TRANSACTIONAL_ID,
    )


def _age(grant: Grant, known: Known) -> str:
    needed, days = known.thresholds.days, known.days_of(grant)
    is_restarted = known.forgotten is not None and grant.known_from == known.forgotten
    if days >= needed or not (grant.given or is_restarted):
        return ""
    since = f"created on {_day(grant.known_from)}"
    if is_restarted:
        since = f"names were forgotten on {_day(known.forgotten)}, and the uses that they had"
    return f"{since}; the history covers {int(days)} days since, and {needed:g} are required"


def _unknown_age(grant: Grant, known: Known) -> str:
    if known.days_of(grant) >= known.thresholds.days:
        return ""
    since = (
        "its age is unknown"
        if grant.known_from is None
        else f"first listed on {_day(grant.known_from)}"
    )
    return (
        f"{_use_of(grant)}, but its age is unknown ({since}); to prove that it existed before"
        f" {_day(known.begin)}, give an earlier listing with --acls FILE@DATE"
    )


def _use_of(grant: Grant) -> str:
    """Return how a grant that may go was used: not at all, or beside others."""
    if not grant.uses:
        return "unused"
    return f"used {times(grant.uses)}, though another ACL allows the same"


def _coverage(grant: Grant, known: Known) -> str:
    begin = known.begin_of(grant)
    return "" if begin is None else known.uncovered(begin.date())


def _period(grant: Grant, known: Known) -> str:
    needed, days = known.thresholds.start_days, known.days_of(grant)
    if days >= needed:
        return ""
    if grant.uses:
        return (
            f"used {times(grant.uses)}, but another ACL always allows the same; {needed:g} days"
            f" of history are required to rely on it, {int(days)} are observed"
        )
    principal = grant.binding.entry.principal
    if principal not in known.activity:
        made = f"{principal} made no request in {int(days)} days and may be"
        if principal == WILDCARD_PRINCIPAL:
            made = f"{int(days)} days may lack the requests of"
        return f"{made} a quarterly job or a future service; required: {needed:g} days"
    operation, kind = grant.binding.entry.operation, grant.binding.pattern.resource_type
    if (operation, kind) in _ASKED_OFTEN:
        return ""
    return (
        f"{operation.name} on {kind.name} is checked at startup or creation, not per request:"
        f" {int(days)} days observed, {needed:g} required"
    )


def _deny_first(grant: Grant, known: Known) -> str:
    if grant.unused == NEVER_USED:
        refused = "requests that it allows were denied by a DENY"
    elif known.is_shut(grant.binding):
        refused = f"{_use_of(grant)}, and a DENY overrides all that it allows"
    else:
        return ""
    return f"{refused}; check whether that DENY is permanent"


def _cluster_first(grant: Grant, known: Known) -> str:
    (resource_type, _, _), entry = grant.binding
    for (operation, hidden), principals in known.cluster_first.items():
        ordinary = principals - known.super_users
        if entry.principal != WILDCARD_PRINCIPAL:
            ordinary &= {entry.principal}
        if (
            ordinary
            and hidden is resource_type
            and entry.operation in (operation, AclOperation.ALL)
        ):
            return (
                f"unused because {operation.name} on the cluster, which Kafka asks for first,"
                f" allowed the requests of {min(ordinary)}; check which of both should go"
            )
    return ""


def _refused(grant: Grant, known: Known) -> str:
    principal = grant.binding.entry.principal
    activity = known.activity.get(principal, Activity())
    if not activity.denied or activity.denied < _REFUSED_SHARE * sum(activity):
        return ""
    refused = f"{times(activity.denied)} and never allowed"
    if activity.allowed:
        refused = (
            f"in {activity.denied:,} of {sum(activity):,} requests, and may not reach the use of"
            " this ACL"
        )
    return f"{principal} was denied {refused}; check what it lacks"


def _renamed(grant: Grant, known: Known) -> str:
    principal = grant.binding.entry.principal
    if principal == WILDCARD_PRINCIPAL or principal in known.activity:
        return ""
    if other := namesake(principal, known.activity):
        return (
            f"{principal} never appears, but {other} does; check whether both are the same"
            " principal with different mapping rules"
        )
    kind = principal.partition(":")[0]
    if any(seen.startswith(f"{kind}:") for seen in known.activity):
        return ""
    return (
        f"no principal of type {kind} appears in the history; check under which names its members"
        " are logged"
    )


_NARROWING: Final = frozenset(
    {
        *("names", "collector", "history", "doubt", "unread", "listing", "brokers", "requests"),
        *("age", "unknown-age", "coverage", "period", "deny-first", "cluster-first", "refused"),
    }
)
"""The rules that hold for the unused part of a used grant: all but those about its own use."""

RULES: Final[tuple[tuple[str, Verdict, Callable[[Grant, Known], str]], ...]] = (
    ("host", Verdict.ASK, _host),
    ("deny", Verdict.KEEP, _deny),
    ("used", Verdict.KEEP, _used),
    ("names", Verdict.KEEP, lambda grant, _: _keep_pattern(grant)),
    ("collector", Verdict.NOT_ENOUGH_EVIDENCE, lambda _, known: known.lost_lines),
    ("history", Verdict.NOT_ENOUGH_EVIDENCE, lambda _, known: next(iter(known.lacking), "")),
    ("doubt", Verdict.NOT_ENOUGH_EVIDENCE, _doubt),
    ("unread", Verdict.NOT_ENOUGH_EVIDENCE, _unread),
    ("listing", Verdict.NOT_ENOUGH_EVIDENCE, lambda _, known: known.listing),
    ("brokers", Verdict.NOT_ENOUGH_EVIDENCE, _brokers),
    ("requests", Verdict.NOT_ENOUGH_EVIDENCE, _requests),
    ("age", Verdict.NOT_ENOUGH_EVIDENCE, _age),
    ("unknown-age", Verdict.ASK, _unknown_age),
    ("coverage", Verdict.NOT_ENOUGH_EVIDENCE, _coverage),
    ("period", Verdict.NOT_ENOUGH_EVIDENCE, _period),
    ("deny-first", Verdict.ASK, _deny_first),
    ("cluster-first", Verdict.ASK, _cluster_first),
    ("refused", Verdict.ASK, _refused),
    ("renamed", Verdict.ASK, _renamed),
)
"""The rules in their order; each returns the reason, or '' where a removal may pass."""


def _removal(grant: Grant, known: Known, *, is_dormant: bool) -> str:
    days = f"{int(known.days_of(grant))} days"
    if grant.uses:
        others = "another ACL" if grant.covered == 1 else f"{grant.covered} other ACLs"
        text = f"everything it was used for in {days} is also allowed by {others}"
    elif is_dormant:
        text = f"unused for {days}, and {grant.binding.entry.principal} made no requests"
    else:
        text = f"unused for {days}"
    if grant.binding.entry.principal in known.super_users:
        text += "; only while the principal is in super.users"
    return text


@lru_cache(1 << 16)
def _words(principal: str) -> frozenset[str]:
    """Return the words of a name that say who it is, as ``_folded`` has them."""
    words = _PARTS.split(_folded(principal))
    return frozenset(word for word in words if word and word not in _GENERIC)


@lru_cache(1 << 16)
def _letters(principal: str) -> str:
    """Return the letters and digits of a name, without the other parts of a distinguished one."""
    name = _folded(principal).partition(":")[2].removeprefix("cn=")
    return _PARTS.sub("", _NAME_END.split(name)[0])


def _folded(name: str) -> str:
    """Return a name in which case, and forms of Unicode that look alike, make no difference."""
    return normalize("NFKC", normalize("NFKC", name).casefold())


@lru_cache(1 << 16)
def _day(at: dt.datetime | None) -> str:
    return "an unknown day" if at is None else f"{at:%Y-%m-%d}"


def never_matches(host: str, *, networks: bool) -> str:
    """Return why the host of an ACL matches no client; empty where it may.

    Kafka compares hosts as texts with the address of the client (``StandardAuthorizerData``
    ``.findResult``; KIP-1276 for networks, from Kafka 4.4 on). ``networks``: whether hosts may be
    networks. The scope of an address is left to the broker.
    """
    if host == WILDCARD or "%" in host:
        return ""
    if "/" in host:
        if not networks:
            return f"{host} is a network; before Kafka 4.4 hosts are compared as strings (--kafka)"
        return "" if network_of(host) else f"{host} is not a valid network in Kafka"
    written = java_host(host)
    if written is None:
        return f"{host} is not an IP address, with which Kafka compares the client's address"
    return "" if written == host else f"Kafka writes the address {host} as {written}"
