"""Which bindings can go, and why."""

from __future__ import annotations

import pytest

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.model import AclBinding, AclOperation
from doorkeeper.acls.necessity import Cause, removable
from testkit.acl import DESCRIBE, PREFIXED, READ, WRITE, allow, deny, topic
from testkit.acl_worlds import loaded

PLAIN = Policy()
OPEN = Policy(allow_everyone=True)
EVERYBODY = allow("User:*", AclOperation.ALL, topic("*"))


@pytest.mark.parametrize(
    ("policy", "needed", "superfluous", "cause"),
    [
        (PLAIN, allow("a", READ, topic("t")), allow("a", DESCRIBE, topic("t")), Cause.COVERED),
        (PLAIN, allow("a", READ, topic("t", PREFIXED)), allow("a", READ, topic("tt")),
         Cause.COVERED),
        (PLAIN, deny("a", READ, topic("*")), allow("a", READ, topic("t"), "10.0.0.1"), None),
        (PLAIN, allow("b", READ, topic("t")), deny("a", READ, topic("t")), Cause.NOTHING_TO_DENY),
        (PLAIN, allow("b", READ, topic("t")), allow("a", AclOperation.CREATE_TOKENS, topic("t")),
         Cause.NO_EFFECT),
        (Policy(super_users=frozenset({"User:a"})), allow("b", READ, topic("t")),
         allow("a", READ, topic("t")), Cause.SUPER_USER),
    ],
)  # fmt: skip
def test_one_of_two_redundant_bindings_is_removable(
    policy: Policy, needed: AclBinding, superfluous: AclBinding, cause: Cause | None
) -> None:
    found = removable(policy, loaded(needed, superfluous))

    expected = [] if cause is None else [(superfluous, cause)]
    assert [(each.binding, each.cause) for each in found] == expected


def test_allow_shadowed_by_deny() -> None:
    shadow = deny("User:*", AclOperation.ALL, topic("*"))
    found = removable(PLAIN, loaded(shadow, allow("a", READ, topic("t"))))

    assert [each.cause for each in found] == [Cause.NOTHING_TO_DENY, Cause.SHADOWED]
    assert found[1].because == (shadow,)


def test_binding_that_closes_a_resource_is_not_redundant() -> None:
    """There a binding without effect closes its resource; a grant of all to all does not."""
    nothing = allow("a", AclOperation.CREATE_TOKENS, topic("t"))

    assert removable(OPEN, loaded(nothing)) == []
    assert [each.cause for each in removable(OPEN, loaded(EVERYBODY))] == [Cause.DEFAULT]
    assert removable(OPEN, loaded(EVERYBODY, deny("a", WRITE, topic("t")))) == []
