r"""Records of kafka-authorizer.log, and their messages: the text between level and logger's name.

    [2024-10-25 10:11:12,345] INFO Principal = ... (kafka.authorizer.logger)

    Principal = User:alice is Denied operation = DESCRIBE from host = 10.0.0.7 on resource =
    Topic:LITERAL:orders for request = Metadata with resourceRefCount = 1 based on rule DefaultDeny

Nothing in it is escaped, and names hold spaces, ``=``, line breaks and whole messages. So the
fixed head is read from the left (its first occurrence counts), the fixed tail from the right, and
the name of the resource is the rest. Where a tail can be read in two ways, because the rule
holds a name too, the reading counts whose ACL fits the request; of several, the one furthest right.
If none fits, the line is no decision of a broker. The principal is the one that ACLs have, see
``logged_principals``; the slash with which Java prints an address is not part of the host.

    era  releases          operation  pattern  tail
    A    0.9 - 1.1         Read       no       none
    B    2.0 - 2.3         Read       yes      none
    C    2.4 - 3.9         Read       yes      for request, resourceRefCount
    D    3.3 - 4.1         READ       yes      and the rule, the ACL in round brackets
    E    4.2 -             READ       yes      the same, in square brackets

Source: ``SimpleAclAuthorizer``, ``AclAuthorizer.logAuditMessage``,
``StandardAuthorizerData.buildAuditMessage``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from doorkeeper.acls.formats import logged_principals, request_words

MESSAGES_MAX = 1 << 18
"""Distinct messages that a process keeps parsed: some 100 MB. A day of a real cluster has fewer."""


class Message(NamedTuple):
    """The content of a message; ``rule`` and ``rule_binding`` are empty where the era has none."""

    principal: str
    host: str
    operation: str
    resource_type: str
    resource_name: str
    outcome: str
    api: str
    rule: str
    rule_binding: str
    probe: bool


class Record(NamedTuple):
    """A message with its time, a text without zone: ``2024-10-25 10:11:12,345``."""

    time: str
    message: Message


class Ignored(NamedTuple):
    """A message that is known and says no decision on a name."""

    why: str


class Bad(NamedTuple):
    """A message that cannot be read."""

    reason: str


END = " (kafka.authorizer.logger)"
"""The end of a record."""

BEGIN = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] [A-Z]+ ")
"""The beginning of a record of any logger."""

FOREIGN = r"\[(?:ALLOW|DENY)\] Auth request "
"""How messages of Aiven's authorizer begin, and of others made after it."""

OTHER_RECORD = re.compile(
    BEGIN.pattern + rf"(?!{FOREIGN})(.*) \(((?!kafka\.authorizer\.logger)[\w.$-]+)\)\Z"
)
"""A record with the name of another logger: its message, and the name."""

DECISION = r"(?s)Principal = .* is (?:Allowed|Denied) "
"""A decision, whatever the logger, and what stands before it: layouts shorten names, wrappers have
theirs, and a thread or a context may stand there, whose layout is not the one of the file."""

_DECISION = re.compile(DECISION)

_FOREIGN_RECORD = re.compile(BEGIN.pattern + FOREIGN)
_FOREIGN = (
    "a decision of another authorizer; only lines of Kafka's StandardAuthorizer are supported"
)
_INNER = re.compile(r"\n" + BEGIN.pattern)
_TORN = re.compile(r"\d\d:\d\d:\d\d.{0,200}? Principal = ")
"""A record of any layout behind the time at its begin."""

_INSIDE = "a log record begins inside another one: it is truncated, or a name"
_RECORD = re.compile(
    r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] ([A-Z]+) (.*) \(kafka\.authorizer\.logger\)\Z",
    re.DOTALL,
)
_HEAD = re.compile(
    r"Principal = (.*?) is (Allowed|Denied) ([Oo])peration = ([A-Za-z_]+)"
    r" from host = (\S+) on resource = ([A-Za-z]+):",
    re.DOTALL,
)
_OTHERS = re.compile(r"Principal = .* is Denied on (\d+) more resources from host = ", re.DOTALL)
"""The line of ``authorizer.authorizer_log.line_of_others``."""

_PATTERN = re.compile(r"(LITERAL|PREFIXED|UNKNOWN|ANY|MATCH):", re.DOTALL)
_REQUEST = " for request = "
_COUNTED = re.compile(r" for request = (\S+) with resourceRefCount = (\d+)\Z")
_RULED = re.compile(
    r" for request = (\S+) with resourceRefCount = (\d+) based on rule (.*)\Z", re.DOTALL
)
_MATCHING = re.compile(r"MatchingAcl\(acl=StandardAcl(?:\[(.*)\]|\((.*)\))\)\Z", re.DOTALL)
_ACL = re.compile(
    r"resourceType=(\w+), resourceName=(.*), patternType=(\w+), principal=(.*?), host=([^,]*),"
    r" operation=(\w+), permissionType=(ALLOW|DENY)\Z",
    re.DOTALL,
)
_SIMPLE_RULES = {"SuperUser", "DefaultAllow", "DefaultDeny"}
NOTES = ("No acl found for resource ", "principal = ", "operation = ")
"""How the lines at DEBUG begin that tell the way to a decision, not the decision (A to C)."""


def read_record(text: str) -> Record | Ignored | Bad:
    """Parse a record, which has several lines if a name in it has."""
    other = OTHER_RECORD.match(text)
    if other is not None and _DECISION.search(other[1]):
        return Bad(f"a decision of the logger {other[2]}; expected: (kafka.authorizer.logger)")
    if other is not None or not text.strip():
        return Ignored("a line of another logger")
    match = _RECORD.match(text)
    if _FOREIGN_RECORD.match(text):
        return Bad(_FOREIGN)
    if match is None:
        return Bad("not a log record; expected: '[time] LEVEL message (kafka.authorizer.logger)'")
    if _INNER.search(text):
        return Bad(f"{_INSIDE} with a line break was forged")
    message = read(match[2], match[3])
    return Record(match[1], message) if isinstance(message, Message) else message


@lru_cache(MESSAGES_MAX)
def read(level: str, text: str) -> Message | Ignored | Bad:
    """Parse a message. ``level`` tells probes: Kafka logs them at TRACE."""
    head = _HEAD.match(text)
    if head is None:
        if text.startswith(NOTES):
            return Ignored("an intermediate message, not a decision")
        others = _OTHERS.match(text)
        if others is not None:
            return Bad(f"the summary line of {others[1]} denials of a large request")
        return Bad("not an authorizer message; expected: 'Principal = ... on resource = ...'")
    # A broker that was killed while it wrote a line begins the next one behind it.
    if _TORN.search(text):
        return Bad(f"{_INSIDE} was forged")
    try:
        return _message(level, head, text[head.end() :])
    except ValueError as error:
        return Bad(str(error))


def _message(level: str, head: re.Match[str], rest: str) -> Message | Ignored:
    logged, outcome, letter, operation, host, resource_type = head.groups()
    principal = logged_principals.read(logged).principal
    if not principal:
        raise ValueError("cannot read the principal; expected: Type:name")
    host = host.removeprefix("\\").removeprefix("/")
    tail = _standard_tail(rest, resource_type, principal, host) if letter == "o" else None
    if letter == "o" and tail is None:
        raise ValueError("the line is truncated; expected: '... based on rule ...'")
    name, api, references, rule, binding = tail or _older_tail(rest)
    if not agrees(outcome, rule, binding):
        raise ValueError(
            f"the rule {rule} does not produce {outcome}: the line may have been forged by a"
            " name with a line break"
        )
    if references == 0 or name is None:
        return Ignored("a request for any resource of a type")
    return Message(
        principal,
        host,
        request_words.operation(operation),
        request_words.resource_type(resource_type),
        name,
        outcome.upper(),
        api,
        rule,
        binding,
        level == "TRACE",
    )


_Tail = tuple["str | None", str, int, str, str]
"""The name of the resource or None, the API, references, the rule and its binding."""


def _older_tail(rest: str) -> _Tail:
    """Parse the text after the type of the resource in eras A to C."""
    pattern = _PATTERN.match(rest)
    if pattern is None:
        return _check_name(rest), "", 1, "", ""
    rest = rest[pattern.end() :]
    start = rest.rfind(_REQUEST)
    counted = None if start < 0 else _COUNTED.match(rest, start)
    name = rest if counted is None else rest[: counted.start()]
    if pattern[1] != "LITERAL":
        return None, "", 0, "", ""
    api, references = ("", 1) if counted is None else (counted[1], int(counted[2]))
    return _check_name(name), api, references, "", ""


def _standard_tail(rest: str, resource_type: str, principal: str, host: str) -> _Tail | None:
    """Parse the text after the type of the resource in eras D and E; None without its end."""
    pattern = _PATTERN.match(rest)
    if pattern is None:
        raise ValueError("resource: expected Type:PATTERN:name")
    rest = rest[pattern.end() :]
    other = ""
    end = len(rest)
    while (start := rest.rfind(_REQUEST, 0, end)) >= 0:
        end = start + len(_REQUEST) - 1
        tail = _RULED.match(rest, start)
        rule = None if tail is None else _rule(tail[3])
        if tail is None or rule is None:
            continue
        reading = (rest[:start], tail[1], int(tail[2]), rule[0], rule[1])
        if not rule[1] or _fits(rule[1], resource_type, rest[:start], principal, host):
            return _check_name(reading[0]), *reading[1:]
        other = rule[1]
    if other:
        raise ValueError(_other_rule_text(other, principal))
    return None


def _other_rule_text(acl: str, principal: str) -> str:
    match = _ACL.match(acl)
    assert match is not None
    named = match[4]
    if named != principal and named.casefold() == principal.casefold():
        return (
            f"the principal is {principal}, but the ACL in the rule is for {named}; principals"
            " are case-sensitive"
        )
    return (
        "the rule names an ACL that does not match this request: the line may have been forged by"
        " a name with a line break"
    )


def agrees(outcome: str, rule: str, binding: str) -> bool:
    """Say whether a rule leads to an outcome; without a rule every outcome may be."""
    if rule == "MatchingAcl":
        return binding.endswith("DENY" if outcome == "Denied" else "ALLOW")
    return not rule or (rule == "DefaultDeny") == (outcome == "Denied")


def _rule(text: str) -> tuple[str, str] | None:
    """Return a rule and the text of its ACL, or None when it is none."""
    if text in _SIMPLE_RULES:
        return text, ""
    matching = _MATCHING.match(text)
    if matching is None:
        return None
    acl = matching[1] if matching[1] is not None else matching[2]
    return ("MatchingAcl", acl) if _ACL.match(acl) else None


def _fits(acl: str, resource_type: str, name: str, principal: str, host: str) -> bool:
    """Say whether an ACL is about this request: it would not be its rule otherwise."""
    # The first name that fits: a reading of the ACL itself may be ambiguous in the same way.
    match = _ACL.match(acl)
    assert match is not None
    acl_type, acl_name, pattern, acl_principal, acl_host = match.groups()[:5]
    return (
        request_words.resource_type(acl_type) == request_words.resource_type(resource_type)
        and (acl_name in (name, "*") if pattern == "LITERAL" else name.startswith(acl_name))
        and acl_principal in (principal, "User:*")
        and (acl_host in (host, "*") or "/" in acl_host)  # a network, since Kafka 4.4
    )


def _check_name(name: str) -> str:
    if not name:
        raise ValueError("the name of the resource is empty")
    return name
