"""What brokers are asked for, and what is compared of their answers."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from doorkeeper.acls.model import exactly
from doorkeeper.acls.plan import Selector, SelectorUnion
from doorkeeper.sync import readings
from doorkeeper.sync.descriptions import Descriptions
from doorkeeper.sync.drift import DesiredChange, compare
from doorkeeper.sync.readings import IncrementalComparison, look_ups
from testkit.acl import READ, WRITE, allow, topic
from testkit.descriptions import answer

if TYPE_CHECKING:
    import pytest

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.sync.drift import Bindings


def test_a_few_acls_are_asked_for_one_by_one() -> None:
    """The answers have these and no others."""
    few = frozenset(allow(f"user-{number}", READ, topic(f"t-{number}")) for number in range(8))

    assert set(look_ups(few)) == set(map(exactly, few))


def test_many_acls_of_one_topic_or_of_one_principal_take_one_filter() -> None:
    """Their number does not matter then."""
    of_topic = frozenset(allow(f"user-{number}", READ, topic("t")) for number in range(1_000))
    of_user = frozenset(allow("alice", READ, topic(f"t-{number}")) for number in range(1_000))

    (by_pattern,), (by_principal,) = look_ups(of_topic), look_ups(of_user)

    assert by_pattern.pattern.name == "t"
    assert by_pattern.entry.principal is None
    assert by_principal.entry.principal == "User:alice"
    assert by_principal.pattern.name is None


def test_all_acls_are_read_for_the_rest() -> None:
    """Nine topics with nine principals would take nine filters; nothing takes none."""
    many = frozenset(allow(f"user-{number}", READ, topic(f"t-{number}")) for number in range(9))

    assert look_ups(many) == []
    assert look_ups(frozenset()) == []


SCOPE = SelectorUnion((Selector(prefixes=("p-",)),))
ALL = [
    allow(user, operation, topic(name))
    for user in ("alice", "bob")
    for operation in (READ, WRITE)
    for name in ("p-a", "p-b", "p-c", "q-a", "q-b")
]
MINE = [each for each in ALL if SCOPE.selects(each)]


def some(chance: Random, bindings: list[AclBinding]) -> Bindings:
    return frozenset(chance.sample(bindings, chance.randint(0, len(bindings))))


async def test_every_description_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of whichever broker, after changes of the desired set, and of answers that came before."""
    chance = Random(24)
    descriptions = Descriptions()
    comparison = IncrementalComparison(SCOPE, descriptions)
    desired: Bindings = frozenset()
    whole = 0

    def counted(*args: object) -> object:
        nonlocal whole
        whole += 1
        return compare(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(readings, "compare", counted)
    for _ in range(200):
        if chance.random() < 0.5:
            before, desired = desired, some(chance, MINE)
            comparison.note(DesiredChange(desired - before, before - desired))
        present = some(chance, ALL)
        # An order for each broker, so that equal sets have other bytes too.
        broker = chance.choice((1, 2))
        body = answer(sorted(present, reverse=broker == 2))
        found, _ = descriptions.reader(broker).decode(body, 0, 3)
        if chance.random() < 0.2:
            # This one is not compared; the next one does not follow from the last comparison.
            continue

        drift = await comparison.drift(desired, found)

        assert drift == compare(desired, present, SCOPE)
    assert 20 < whole < 100
