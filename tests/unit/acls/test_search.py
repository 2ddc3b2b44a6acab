"""Finding many bindings; tests/property/acl/test_snapshots.py compares with a scan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.acls.bulk import load
from doorkeeper.acls.search import SLICE, find_each
from testkit.acl import READ, allow, topic, wanted

if TYPE_CHECKING:
    from doorkeeper.acls.model import AclBindingFilter


def steps_of(filters: list[AclBindingFilter]) -> int:
    steps = 0
    for _ in find_each(MANY, filters, 10_000):
        steps += 1
    return steps


MANY = load(
    (
        str(number),
        allow(f"user-{number % 7}", READ, topic(f"t{number}"), host=f"10.0.0.{number % 100}"),
    )
    for number in range(20 * SLICE)
)


def test_several_filters_share_one_scan() -> None:
    hosts = [wanted(host=f"10.0.1.{number}") for number in range(40)]

    assert steps_of(hosts) == steps_of(hosts[:1]) == pytest.approx(20, abs=1)
    theirs = [wanted(principal="User:user-1", host=f"10.0.1.{number}") for number in range(40)]
    assert steps_of(theirs) == pytest.approx(3, abs=1)


def test_search_stops_at_its_limit() -> None:
    work = find_each(MANY, [wanted(principal=None)] * 2, SLICE)
    next(work)

    with pytest.raises(StopIteration) as end:
        next(work)

    assert end.value.value is None
