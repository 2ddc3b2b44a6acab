"""The smallest sets of bindings for what was needed."""

import datetime as dt

import pytest

from doorkeeper.acl.model import AclBinding, AclOperation, ResourceType
from doorkeeper.acl.privileges import (
    Known,
    Need,
    Privilege,
    grant_of,
    history_names,
    least,
)
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


def test_literals() -> None:
    """Every need is an ALLOW on its name, from its host, with what was used through it."""
    needs = [need("t", uses=2), need("s", host="10.0.0.1", day=1)]

    found = least(needs, Known({}))

    assert found == [
        Privilege(
            allow("a", READ, topic("s"), "10.0.0.1"), 1, ("s",), (), needs[1].first, needs[1].last
        ),
        Privilege(allow("a", READ, topic("t")), 2, ("t",), (), BEGIN, BEGIN),
    ]
    assert {each.kind for each in found} == {"LITERAL"}


def test_implied_operations_are_left_out() -> None:
    """READ lets DESCRIBE through, and has its uses and times; DESCRIBE alone stays."""
    found = least(
        [need("t", DESCRIBE, uses=5, day=3), need("t", READ), need("s", DESCRIBE)], Known({})
    )

    assert bindings(found) == [allow("a", DESCRIBE, topic("s")), allow("a", READ, topic("t"))]
    assert (found[1].support, found[1].last) == (6, BEGIN + dt.timedelta(days=3))


def test_no_prefix_unless_asked_for() -> None:
    """Names that share a prefix stay literals where nobody asks for prefixes."""
    needs = [need(f"orders.{letter}") for letter in "abc"]

    found = least(needs, history_names({TOPIC: [each.name for each in needs]}, needs, ()))

    assert {each.kind for each in found} == {"LITERAL"}
    assert len(found) == 3


def test_prefixes_at_a_delimiter() -> None:
    """Three names that share a beginning up to a delimiter are one prefix, as long as it can be."""
    needs = [need(f"orders.eu.{letter}") for letter in "abc"]

    [found] = proposed(*needs)

    assert found.binding == allow("a", READ, topic("orders.eu.", PREFIXED))
    assert (found.kind, found.support, found.covers) == ("PREFIX", 3, ())
    assert found.names == ("orders.eu.a", "orders.eu.b", "orders.eu.c")


@pytest.mark.parametrize("names", [("ordersa", "ordersb", "ordersc"), ("o.a", "o.b")])
def test_what_is_no_prefix(names: tuple[str, ...]) -> None:
    """Names that share no delimiter, or two names only, stay literals."""
    assert {each.kind for each in proposed(*map(need, names))} == {"LITERAL"}


def test_names_of_others() -> None:
    """A prefix never covers a name that others were let through to; a longer one may do."""
    needs = [need(f"orders.eu.{letter}") for letter in "abc"] + [need("orders.us.a")]

    found = proposed(*needs, need("orders.us.x", principal="User:b"))

    mine = [each.binding for each in found if each.binding.entry.principal == "User:a"]
    assert mine == [
        allow("a", READ, topic("orders.eu.", PREFIXED)),
        allow("a", READ, topic("orders.us.a")),
    ]


def test_names_that_others_may_use() -> None:
    """A literal ALLOW makes a name others' too, used or not; a DENY, a prefix and "*" do not."""
    needs = [need(f"orders.{letter}") for letter in "abc"]

    def kinds(acl: AclBinding) -> set[str]:
        return {each.kind for each in proposed(*needs, acls=(acl,))}

    assert kinds(allow("b", READ, topic("orders.x"))) == {"LITERAL"}
    assert kinds(deny("b", READ, topic("orders.x"))) == {"PREFIX"}
    assert kinds(allow("b", READ, topic("orders.", PREFIXED))) == {"PREFIX"}
    assert kinds(allow("b", READ, topic("*"))) == {"PREFIX"}
    assert kinds(allow("a", READ, topic("orders.x"))) == {"PREFIX"}


def test_shared_names_are_no_obstacle() -> None:
    """A name that others use and the principal used too may be covered."""
    needs = [need(f"orders.{letter}") for letter in "abc"]

    found = proposed(*needs, need("orders.a", WRITE, principal="User:b"))

    assert allow("a", READ, topic("orders.", PREFIXED)) in bindings(found)


def test_covered_names_are_listed() -> None:
    """A prefix names what it covers of the history and the principal did not use."""
    [found] = proposed(*(need(f"orders.{letter}") for letter in "abc"), others=("orders.z", "x"))

    assert found.covers == ("orders.z",)


def test_literals_within_a_prefix_are_left_out() -> None:
    """What a prefix lets through by implication needs no literal."""
    found = proposed(*(need(f"orders.{letter}") for letter in "abc"), need("orders.d", DESCRIBE))

    assert bindings(found) == [allow("a", READ, topic("orders.", PREFIXED))]
    assert found[0].covers == ("orders.d",)


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
def test_what_no_acl_can_say(principal: str, name: str, operation: AclOperation) -> None:
    """Nobody is granted the literal "*", an empty name, or something for User:*."""
    assert grant_of(principal, TOPIC, name, operation) is None
    assert least([need(name, operation, principal=principal)], Known({})) == []


def test_the_cluster_has_one_name() -> None:
    """A grant on the cluster is on its only name; another name of it cannot be granted."""
    cluster = ResourceType.CLUSTER

    found = grant_of("User:a", cluster, "kafka-cluster", DESCRIBE)

    assert found is not None
    assert found.pattern.name == "kafka-cluster"
    assert grant_of("User:a", cluster, "another", DESCRIBE) is None


def test_asterisks_are_no_prefix() -> None:
    """Names that begin with an asterisk stay apart: their prefix would read as a wildcard."""
    found = proposed(*(need(f"*.{letter}") for letter in "abc"))

    assert {each.kind for each in found} == {"LITERAL"}


def test_thousands_of_delimiters() -> None:
    """Names with thousands of delimiters end in literals, not in a deep recursion."""
    stem = "." * 5000
    needs = [need(stem + letter) for letter in "abc"]

    found = proposed(*needs, need(stem + "x", principal="User:b"))

    assert {each.kind for each in found} == {"LITERAL"}
