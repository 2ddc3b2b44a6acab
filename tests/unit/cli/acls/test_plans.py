"""Plans as people read them and as files keep them."""

from __future__ import annotations

import json

import pytest

from doorkeeper.acl.formats.names import FormatError
from doorkeeper.acl.planning import Plan, plan
from doorkeeper.cli.acls import plans as acl_plans
from testkit.acl import PREFIXED, READ, allow, deny, topic

A, B = allow("a", READ, topic("t")), deny("b,c", READ, topic("u", PREFIXED), "10.0.0.1")
CHANGE = Plan((A,), (B,), kept=3, foreign=2)


def test_a_plan_for_people() -> None:
    """A row for each item, as CSV has it, and the numbers below; no colours in a pipe."""
    assert list(acl_plans.lines(CHANGE)) == [
        "+ User:a,TOPIC,LITERAL,t,READ,ALLOW,*",
        '- "User:b,c",TOPIC,PREFIXED,u,READ,DENY,10.0.0.1',
        "Plan: 1 to add, 1 to remove; 3 stay; 2 are not owned.",
    ]
    assert list(acl_plans.lines(plan([A], [A]))) == ["Nothing to do: 1 ACLs are as they should be."]


def test_a_plan_in_a_file() -> None:
    """What is written is read back."""
    place = "kafka://localhost:9092"

    assert acl_plans.plan_of(acl_plans.text_of(CHANGE, place)) == (CHANGE, place)


def test_a_plan_that_names_no_place() -> None:
    """It is for any: whoever writes one by hand need not know the place."""
    assert acl_plans.plan_of(json.dumps(acl_plans.record(CHANGE))) == (CHANGE, None)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"version": 2}, "expected is a plan: a mapping with version 1"),
        ({"more": 1}, "expected are version, place, added, removed, kept, foreign"),
        ({"place": 3}, "place: expected is a text"),
        ({"kept": "3"}, "kept, foreign: expected are whole numbers"),
        ({"removed": [{"name": "x"}]}, "removed: acl 1: missing: resourceType"),
    ],
)
def test_what_is_no_plan(changed: dict[str, object], error: str) -> None:
    """It is refused, with what was expected and where."""
    document = acl_plans.record(CHANGE) | changed

    with pytest.raises(FormatError) as refused:
        acl_plans.plan_of(json.dumps(document))

    assert str(refused.value).startswith(error)


def test_a_text_that_is_no_json() -> None:
    """The line is named."""
    with pytest.raises(FormatError, match="line 2: no JSON"):
        acl_plans.plan_of('{"version": 1,\n]')


def test_a_plan_that_adds_what_it_removes() -> None:
    """It is refused: what is wanted would be gone in the end."""
    with pytest.raises(FormatError, match="both have User:a,TOPIC,LITERAL,t,READ,ALLOW"):
        acl_plans.plan_of(acl_plans.text_of(CHANGE._replace(removed=(A, B)), "config:x"))
