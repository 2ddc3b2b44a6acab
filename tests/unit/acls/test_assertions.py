"""Rules about what ACLs may allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.acls.assertions import counterexamples, newly_broken_by
from doorkeeper.acls.decision import Policy
from doorkeeper.acls.effective_changes import DecisionState
from doorkeeper.acls.formats.assertions import read_assertions
from testkit.acl import DESCRIBE, PREFIXED, READ, WRITE, allow, deny, topic
from testkit.acl_worlds import loaded

if TYPE_CHECKING:
    from doorkeeper.acls.model import AclBinding

ROOT = Policy(super_users=frozenset({"User:root"}))
PII = "operation: READ, resourceType: TOPIC, name: pii-, patternType: PREFIXED"


def state(*world: AclBinding) -> DecisionState:
    return DecisionState(ROOT, loaded(*world).with_network_matching(enabled=True))


def broken_by(rule: str, *world: AclBinding, before: tuple[AclBinding, ...] = ()) -> list[str]:
    [(_, found)] = read_assertions(f"version: 1\nrules:\n- {{{rule}}}\n")
    return [
        f"{each.principal} {each.operation.name} {each.name}"
        for each in counterexamples(state(*world), found, state(*before))
    ]


PREFIX = topic("pii-", PREFIXED)


@pytest.mark.parametrize(
    ("rule", "world", "expected"),
    [
        (f'rule: only, principal: "User:pay", {PII}', (allow("pay", READ, PREFIX),), []),
        (f'rule: only, principal: "User:pay", {PII}', (allow("bob", READ, topic("*")),),
         ["User:bob READ pii-x"]),
        (f'rule: only, principal: "User:pay", {PII}',
         (allow("User:*", READ, topic("pii-news")), allow("pay", READ, PREFIX)),
         ["User:anyone READ pii-news"]),
        (f'rule: never, principal: "User:bob", {PII}', (allow("bob", READ, topic("*")),),
         ["User:bob READ pii-x"]),
        (f'rule: never, principal: "User:bob", {PII}',
         (allow("bob", READ, topic("*")), deny("bob", READ, PREFIX)), []),
        # A super user is allowed everything: a rule that names it is about that.
        (f'rule: never, principal: "User:root", {PII}', (), ["User:root READ pii-x"]),
        (f'rule: always, principal: "User:bob", {PII}', (allow("bob", READ, PREFIX),), []),
        (f'rule: always, principal: "User:bob", {PII}',
         (allow("bob", READ, PREFIX, "10.0.0.0/8"),), ["User:bob READ pii-x"]),
        (f'rule: always, principal: "User:bob", host: 10.1.2.0/24, {PII}',
         (allow("bob", READ, PREFIX, "10.0.0.0/8"),), []),
        (f'rule: always, principal: "User:*", {PII}',
         (allow("User:*", READ, PREFIX), deny("bob", READ, topic("pii-x"))),
         ["User:bob READ pii-x"]),
    ],
)  # fmt: skip
def test_rules_report_violating_principals(
    rule: str, world: tuple[AclBinding, ...], expected: list[str]
) -> None:
    assert broken_by(rule, *world) == expected


BEFORE = (
    allow("bob", READ, topic("pii-a")),
    allow("carol", READ, topic("pii-", PREFIXED)),
    allow("team", READ, topic("pii-", PREFIXED)),
)


@pytest.mark.parametrize(
    ("rule", "change", "expected"),
    [
        # Who broke it before breaks it anew with another name, and not with the same one.
        (f'rule: only, principal: "User:team", {PII}', allow("bob", READ, topic("pii-b")), ["bob"]),
        (f'rule: only, principal: "User:team", {PII}', allow("bob", READ, topic("pii-a")), []),
        (f'rule: only, principal: "User:bob", {PII}', allow("bob", READ, topic("pii-b")), []),
        (f'rule: only, principal: "User:*", {PII}', allow("eve", READ, topic("pii-b")), []),
        (f'rule: never, principal: "User:*", {PII}', allow("eve", READ, topic("pii-b")), ["eve"]),
        (f'rule: never, principal: "User:bob", {PII}', allow("eve", READ, topic("pii-b")), []),
        (f'rule: never, principal: "User:*", {PII}', allow("eve", WRITE, topic("pii-b")), []),
        (f'rule: never, principal: "User:*", {PII}', deny("carol", READ, topic("pii-b")), []),
        (f'rule: always, principal: "User:carol", {PII}', deny("carol", READ, topic("pii-b")),
         ["carol"]),
        (f'rule: always, principal: "User:bob", {PII}', deny("bob", READ, topic("pii-b")), []),
    ],
)  # fmt: skip
def test_what_a_change_newly_breaks(rule: str, change: AclBinding, expected: list[str]) -> None:
    """A rule that is broken already can be broken anew, and by the same principal."""
    [(_, read)] = read_assertions(f"version: 1\nrules:\n- {{{rule}}}\n")
    found = newly_broken_by(state(*BEFORE, change), read, state(*BEFORE))

    assert [question.principal.removeprefix("User:") for question in found] == expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("rule: no more than before", ["User:*", "User:bob"]),
        ("rule: no-more-than-before, operation: READ", []),
        ('rule: no more than before, principal: "User:bob"', ["User:bob"]),
        ("rule: no more than before, resourceType: TOPIC, name: a", []),
        ("rule: no more than before, resourceType: GROUP", []),
    ],
)
def test_no_more_than_before_reports_new_access(rule: str, expected: list[str]) -> None:
    before = (allow("bob", READ, topic("t")), allow("bob", WRITE, topic("u")))
    after = (*before, allow("bob", DESCRIBE, topic("t")), allow("User:*", WRITE, topic("t")))

    found = broken_by(rule, *after, before=before)

    assert [each.split()[0].replace("User:anyone", "User:*") for each in found] == expected
