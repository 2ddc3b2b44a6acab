"""Changes that may permit requests."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from doorkeeper.acls.decision import Policy, Question, allows
from doorkeeper.acls.model import AclBinding, AclOperation
from doorkeeper.acls.plan import plan
from doorkeeper.acls.widening import widening
from testkit import acl_worlds
from testkit.acl import DESCRIBE, PREFIXED, READ, WRITE, allow, deny, topic
from testkit.acl_worlds import loaded

ALL = AclOperation.ALL
NARROW = allow("a", READ, topic("pay-x"), "10.0.0.1")


@pytest.mark.parametrize(
    ("present", "wanted", "widens"),
    [
        ([], [NARROW], True),
        ([allow("a", READ, topic("pay-", PREFIXED))], [NARROW], False),
        ([allow("User:*", ALL, topic("*"))], [NARROW], False),
        ([allow("a", WRITE, topic("pay-x"))], [allow("a", DESCRIBE, topic("pay-x"))], False),
        ([allow("b", READ, topic("pay-x"))], [NARROW], True),
        ([allow("a", READ, topic("pay-", PREFIXED))], [allow("a", READ, topic("*"))], True),
        ([NARROW], [], False),
        ([allow("a", READ, topic("*"))], [allow("a", READ, topic("*", PREFIXED))], True),
        ([allow("a", READ, topic("*", PREFIXED))], [allow("a", READ, topic("*a"))], False),
        ([deny("a", READ, topic("pay-x"))], [], True),
        ([deny("a", READ, topic("pay-x"))], [deny("a", ALL, topic("*"))], False),
        ([deny("a", DESCRIBE, topic("x"))], [deny("a", READ, topic("x"))], True),
        ([], [deny("a", READ, topic("x"))], False),
    ],
)
def test_what_widens(present: list[AclBinding], wanted: list[AclBinding], *, widens: bool) -> None:
    """An ALLOW that is added, a DENY that is removed, unless another ACL covers it."""
    assert bool(widening(present, plan(present, wanted))) is widens


QUESTIONS = [
    Question(principal, host, operation, resource_type, name)
    for principal, host, operation, resource_type, name in product(
        ("User:a", "Group:a", "User:\U0001f600"),
        ("10.0.0.1", "10.0.0.2"),
        acl_worlds.OPERATIONS[1:],
        acl_worlds.TYPES,
        ("a", "abc", "*a", "z", "\U0001f600a"),
    )
]


@settings(max_examples=40)
@given(acl_worlds.worlds, acl_worlds.worlds, st.data())
def test_without_widening_nothing_new_is_permitted(
    present: list[AclBinding], wanted: list[AclBinding], data: st.DataObject
) -> None:
    """Whatever was refused is refused still, by each of the questions of a small world."""
    kept = set(data.draw(st.lists(st.sampled_from(present)))) if present else set()
    changes = plan(set(present), kept | set(wanted))
    # Most random plans widen: the changes that do are left out, and the rest is tried.
    found = set(widening(present, changes))
    changes = replace(
        changes,
        added=tuple(each for each in changes.added if each not in found),
        removed=tuple(each for each in changes.removed if each not in found),
    )
    assert not widening(present, changes)
    before = loaded(*set(present))
    after = loaded(*((set(present) | set(changes.added)) - set(changes.removed)))

    for question in QUESTIONS:
        if allows(Policy(), after, question):
            assert allows(Policy(), before, question)
