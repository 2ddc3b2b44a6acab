"""The smallest sets of bindings for what was needed."""

import datetime as dt

import pytest

from doorkeeper.acls.model import AclBinding, AclOperation, ResourceType
from doorkeeper.acls.privileges import Known, Need, Privilege, grant_of, history_names, least
from testkit.acl import DESCRIBE, PREFIXED, READ, WRITE, allow, deny, topic

TOPIC = ResourceType.TOPIC
BEGIN = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)


def need(
    name: str,
    operation: AclOperation = READ,
    *,
    principal: str = "User:a",
    host: str = "*",
    uses: int = 1,
    day: int = 0,
) -> Need:
    at = BEGIN + dt.timedelta(days=day)
    return Need(principal, host, TOPIC, name, operation, uses, at, at)


def proposed(
    *needs: Need, others: tuple[str, ...] = (), acls: tuple[AclBinding, ...] = ()
) -> list[Privilege]:
    """Return what is proposed where prefixes are asked for, in a history that has other names."""
    names = {TOPIC: [*(each.name for each in needs), *others]}
    return least(needs, history_names(names, needs, acls), prefixes=True)


def bindings(privileges: list[Privilege]) -> list[AclBinding]:
    return [each.binding for each in privileges]


def test_minimal_acls_are_literals() -> None:
    needs = [need("t", uses=2), need("s", host="10.0.0.1", day=1)]

    found = least(needs, Known({}))

    assert found == [
        Privilege(
            allow("a", READ, topic("s"), "10.0.0.1"), 1, ("s",), (), needs[1].first, needs[1].last
        ),
        Privilege(allow("a", READ, topic("t")), 2, ("t",), (), BEGIN, BEGIN),
    ]
    assert {each.kind for each in found} == {"LITERAL"}


def test_implied_operations_are_omitted() -> None:
    found = least(
        [need("t", DESCRIBE, uses=5, day=3), need("t", READ), need("s", DESCRIBE)], Known({})
    )

    assert bindings(found) == [allow("a", DESCRIBE, topic("s")), allow("a", READ, topic("t"))]
    assert (found[1].support, found[1].last) == (6, BEGIN + dt.timedelta(days=3))


def test_prefixes_are_used_only_on_request() -> None:
    needs = [need(f"orders.{letter}") for letter in "abc"]
    known = history_names({TOPIC: [each.name for each in needs]}, needs, ())

    assert [each.kind for each in least(needs, known)] == ["LITERAL"] * 3


def test_prefix_ends_at_a_delimiter() -> None:
    needs = [need(f"orders.eu.{letter}") for letter in "abc"]

    [found] = proposed(*needs)

    assert found.binding == allow("a", READ, topic("orders.eu.", PREFIXED))
    assert (found.kind, found.support, found.covers) == ("PREFIX", 3, ())
    assert found.names == ("orders.eu.a", "orders.eu.b", "orders.eu.c")


@pytest.mark.parametrize(
    ("names", "other"),
    [
        (["ordersa", "ordersb", "ordersc"], "x"),
        (["o.a", "o.b"], "x"),
        (["*.a", "*.b", "*.c"], "x"),
        (["." * 5000 + letter for letter in "abc"], "." * 5000 + "x"),
    ],
    ids=["no delimiter", "two names", "asterisks", "thousands of delimiters"],
)
def test_invalid_prefixes_stay_literals(names: list[str], other: str) -> None:
    found = proposed(*map(need, names), need(other, principal="User:b"))

    assert {each.kind for each in found} == {"LITERAL"}


def test_prefix_excludes_names_used_by_others() -> None:
    needs = [need(f"orders.eu.{letter}") for letter in "abc"] + [need("orders.us.a")]

    found = proposed(*needs, need("orders.us.x", principal="User:b"))

    mine = [each.binding for each in found if each.binding.entry.principal == "User:a"]
    assert mine == [
        allow("a", READ, topic("orders.eu.", PREFIXED)),
        allow("a", READ, topic("orders.us.a")),
    ]


@pytest.mark.parametrize(
    ("acl", "kind"),
    [
        (allow("b", READ, topic("orders.x")), "LITERAL"),
        (deny("b", READ, topic("orders.x")), "PREFIX"),
        (allow("b", READ, topic("orders.", PREFIXED)), "PREFIX"),
        (allow("b", READ, topic("*")), "PREFIX"),
        (allow("a", READ, topic("orders.x")), "PREFIX"),
    ],
)
def test_prefix_excludes_names_allowed_to_others(acl: AclBinding, kind: str) -> None:
    needs = [need(f"orders.{letter}") for letter in "abc"]

    assert {each.kind for each in proposed(*needs, acls=(acl,))} == {kind}


def test_covered_names_are_listed() -> None:
    """A prefix names what it covers and the principal did not use in the same way.

    What it lets through by implication needs no literal, and a name that others use may be
    covered where the principal used it too.
    """
    needs = [need(f"orders.{letter}") for letter in "abc"]
    others = need("orders.a", WRITE, principal="User:b")

    [found, _] = proposed(*needs, need("orders.d", DESCRIBE), others, others=("orders.z", "x"))

    assert found.binding == allow("a", READ, topic("orders.", PREFIXED))
    assert found.covers == ("orders.d", "orders.z")


@pytest.mark.parametrize(
    ("principal", "name", "operation"),
    [
        ("User:a", "*", READ),
        ("User:a", "", READ),
        ("User:*", "t", READ),
        ("User:a", "t", AclOperation.UNKNOWN),
        ("no colon", "t", READ),
    ],
)
def test_unrepresentable_needs_are_omitted(
    principal: str, name: str, operation: AclOperation
) -> None:
    assert grant_of(principal, TOPIC, name, operation) is None
    assert least([need(name, operation, principal=principal)], Known({})) == []
    assert grant_of("User:a", ResourceType.CLUSTER, "kafka-cluster", DESCRIBE) is not None
    assert grant_of("User:a", ResourceType.CLUSTER, "another", DESCRIBE) is None
