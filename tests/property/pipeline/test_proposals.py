"""What is proposed turns nothing that it should not, in small worlds."""

from collections import defaultdict
from itertools import product
from typing import TYPE_CHECKING

from hypothesis import example, given, settings
from hypothesis import strategies as st

from doorkeeper.acls.decision import Policy, Question
from doorkeeper.acls.model import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from doorkeeper.acls.privileges import Need, grant_of, history_names, least
from doorkeeper_pipeline.evaluation import needs as needed
from doorkeeper_pipeline.evaluation.index import compile_index, distinct
from doorkeeper_pipeline.evaluation.overbroad import need_of
from doorkeeper_pipeline.evaluation.unused import keepers_of, rank_bindings, unused_bindings
from doorkeeper_pipeline.evaluation.usage import parts_of, sum_uses
from testkit import reference
from testkit.acl import DESCRIBE, PREFIXED, READ, allow, topic
from testkit.acl_worlds import policies, questions, worlds
from testkit.asked import asked_table

if TYPE_CHECKING:
    from collections.abc import Sequence

many_questions = st.lists(questions, max_size=30, unique=True)
# Names that share beginnings, and few who ask about them: the world's own bindings deny some of it.
_SHARED = tuple(
    Question(principal, "10.0.0.1", operation, ResourceType.TOPIC, f"{one}.{two}-{three}")
    for principal, operation, one, two, three in product(
        ("User:a", "Group:a"), (READ, DESCRIBE), "ab", "xy", "123"
    )
)
topic_questions = st.lists(st.sampled_from(_SHARED), min_size=6, max_size=30, unique=True)
OPEN = (
    allow("User:a", AclOperation.ALL, topic("a", PREFIXED)),
    allow("Group:a", READ, topic("b", PREFIXED)),
    allow("Group:a", READ, topic("a.x-1")),
)


def _reads(principal: str, name: str) -> Question:
    return Question(principal, "10.0.0.1", READ, ResourceType.TOPIC, name)


def answers(
    policy: Policy, bindings: "Sequence[AclBinding]", asking: list[Question]
) -> dict[Question, bool]:
    return {each: reference.decide(policy, bindings, each).allowed for each in asking}


@settings(max_examples=60, deadline=None)
@given(world=worlds, policy=policies, asking=many_questions)
def test_whole_removal_set_changes_no_decision(
    world: list[AclBinding], policy: Policy, asking: list[Question]
) -> None:
    bindings = distinct(world)
    index, table = compile_index(bindings, policy), asked_table(asking)
    totals = sum_uses(parts_of(index, table))

    found = unused_bindings(
        bindings, totals, keepers_of(index, rank_bindings(bindings, totals), table), policy
    )

    going = {bindings[each.binding] for each in found if each.removable}
    left = [each for each in bindings if each not in going]
    assert answers(policy, left, asking) == answers(policy, bindings, asking)


@settings(max_examples=60, deadline=None)
@given(
    world=worlds, super_users=st.sampled_from((frozenset(), frozenset({"User:a"}))), data=st.data()
)
def test_least_privilege_allows_exactly_the_used_access(
    world: list[AclBinding], super_users: frozenset[str], data: st.DataObject
) -> None:
    policy = Policy(super_users=super_users)
    bindings = distinct(world)
    asking = data.draw(many_questions)

    privileges = least(_needs(policy, bindings, asking), history_names({}, (), ()))

    denies = [each for each in bindings if each.entry.permission_type is AclPermissionType.DENY]
    before = answers(policy, bindings, asking)
    after = answers(policy, [*denies, *(each.binding for each in privileges)], asking)
    for question, allowed in before.items():
        principal, _, operation, resource_type, name = question
        sayable = grant_of(principal, resource_type, name, operation) is not None
        by_rule = principal in super_users or sayable
        assert after[question] == (allowed and by_rule), question


@settings(max_examples=60, deadline=None)
@example(
    world=[allow("User:*", READ, topic("*"))],
    asking=[
        *(_reads("Group:a", name) for name in ("a.x-2", "a.y-3", "a.x-3")),
        *(_reads("User:a", name) for name in ("a.x-1", "a.x-2", "a.x-3")),
    ],
)
@given(world=worlds, asking=topic_questions)
def test_prefixes_cover_no_names_of_others(world: list[AclBinding], asking: list[Question]) -> None:
    bindings = distinct([*world, *OPEN])
    needs = _needs(Policy(), bindings, asking)
    names = {ResourceType.TOPIC: {each.name for each in asking}}
    owners: dict[str, set[str]] = defaultdict(set)
    for need in needs:
        owners[need.name].add(need.principal)
    for pattern, entry in bindings:
        # A literal ALLOW makes an owner too, whether it was used or not.
        is_literal = pattern.pattern_type is PatternType.LITERAL
        if is_literal and entry.permission_type is AclPermissionType.ALLOW:
            owners[pattern.name].add(entry.principal)

    privileges = least(needs, history_names(names, needs, bindings), prefixes=True)

    proposed = [each.binding for each in privileges]
    before, after = answers(Policy(), bindings, asking), answers(Policy(), proposed, asking)
    assert {each for each, allowed in before.items() if allowed and not after[each]} == set()
    for each in privileges:
        if each.binding.pattern.pattern_type is PatternType.PREFIXED:
            within = {
                name
                for name in names[ResourceType.TOPIC]
                if name.startswith(each.binding.pattern.name)
            }
            assert set(each.names) | set(each.covers) >= within
            mine = each.binding.entry.principal
            assert all(not owners[name] or mine in owners[name] for name in within)


def _needs(policy: Policy, bindings: "Sequence[AclBinding]", asking: list[Question]) -> list[Need]:
    index = compile_index(bindings, policy)
    table = needed.needs_of(index, [each.entry.host for each in bindings], asked_table(asking))
    return [need_of(row) for row in needed.sum_needs(table).rows()]
