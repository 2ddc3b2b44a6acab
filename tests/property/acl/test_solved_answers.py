"""Answers about all names and clients are those of a solver, which knows Kafka's rules alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import z3  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper.acls.assertions import Assertion, AssertionKind, counterexamples
from doorkeeper.acls.cases import Space, Verdict, answer, cases, together
from doorkeeper.acls.decision import allows
from doorkeeper.acls.effective_changes import DecisionState, effective_changes
from doorkeeper.acls.model import WILDCARD_PRINCIPAL, AclOperation, ResourceType
from doorkeeper.acls.regions import Extent
from doorkeeper.acls.tasks import TaskNeed, task_access, task_answer
from testkit.acl_worlds import loaded
from testkit.question_worlds import ASKED, policies, prefixes, scopes, worlds
from testkit.solver import allowed, covers, has_client, in_change, in_extent, is_possible

if TYPE_CHECKING:
    from doorkeeper.acls.decision import Policy
    from doorkeeper.acls.model import AclBinding

World = list["AclBinding"]
TOPIC = ResourceType.TOPIC
SOLVED = settings(max_examples=80, deadline=None)
"""A formula takes the solver some milliseconds, and a world needs many."""
rules = st.sampled_from((True, False))
"""Those of Kafka 4.4, with networks, or of 4.3."""
asked = st.sampled_from(ASKED)


def state(world: World, policy: Policy, *, networks: bool) -> DecisionState:
    return DecisionState(policy, loaded(*world).with_network_matching(enabled=networks))


def solved(formula: Any, scope: Any) -> Verdict:
    """Return the verdict that the solver gives."""
    some, not_all = is_possible(scope, formula), is_possible(scope, z3.Not(formula))
    if some and not_all:
        return Verdict.SOMETIMES
    return Verdict.ALWAYS if some else Verdict.NEVER


@SOLVED
@given(worlds, policies, prefixes, scopes, asked, rules)
def test_verdicts(
    world: World,
    policy: Policy,
    prefix: str,
    host: str,
    operation: AclOperation,
    networks: bool,
) -> None:
    """explain, who-can and what-can: the same verdict, and examples that have it."""
    found = state(world, policy, networks=networks)
    scope = z3.And(in_extent(Extent(prefix)), has_client(host, networks=True))
    needs = [TaskNeed(operation, TOPIC, Extent(prefix))]
    access = {each.principal: each for each in task_access(*found, host, needs)}
    for principal, shown in (("User:a", "User:a"), ("User:b", "User:b"), ("User:c", "User:*")):
        formula = allowed(policy, world, principal, operation, networks=networks)
        expected = solved(formula, scope)
        space = Space(principal, host, operation, TOPIC, Extent(prefix))

        assert answer(*found, space).verdict is expected
        assert task_answer(*found, principal, host, needs).verdict is expected
        every = cases(*found, space)
        assert (
            together(Verdict.ALWAYS if each.decision.allowed else Verdict.NEVER for each in every)
            is expected
        )
        for question, decision in every:
            assert question.name.startswith(prefix)
            assert allows(*found, question) is decision.allowed
        # One that no ACL names is listed as User:*.
        row = access.get(shown, access.get("User:*"))
        is_named = shown in access or any(each.entry.principal == shown for each in world)
        if shown == "User:*" or is_named:
            row = access.get(shown)
        assert (Verdict.NEVER if row is None else row.verdict) is expected


@SOLVED
@given(worlds, worlds, worlds, policies, policies, asked, rules, rules)
def test_effective_changes(
    common: World,
    more: World,
    others: World,
    one: Policy,
    other: Policy,
    operation: AclOperation,
    networks_before: bool,
    networks_after: bool,
) -> None:
    """The decisions in the regions change, and no others do."""
    before, after = [*common, *more], [*common, *others]
    changes = effective_changes(
        state(before, one, networks=networks_before), state(after, other, networks=networks_after)
    )
    for principal in ("User:a", "User:b", "User:c"):
        was = allowed(one, before, principal, operation, networks=networks_before)
        now = allowed(other, after, principal, operation, networks=networks_after)
        # On names that its own ACLs cover, a principal has regions of its own.
        own = [covers(each) for each in (*before, *after) if each.entry.principal == principal]
        is_super = {principal in each.super_users for each in (one, other)} != {False}
        for gained, formula in (
            (True, z3.And(now, z3.Not(was))),
            (False, z3.And(was, z3.Not(now))),
        ):
            regions = []
            for change in changes:
                if (
                    change.resource_type is not TOPIC
                    or change.allowed is not gained
                    or operation not in change.operations
                ):
                    continue
                if change.principal == principal:
                    regions.append(in_change(change))
                elif change.principal == WILDCARD_PRINCIPAL and not is_super:
                    regions.append(z3.And(in_change(change), z3.Not(z3.Or(*own))))
            assert not is_possible(z3.Or(*regions) != formula), (principal, gained, changes)


@SOLVED
@given(
    worlds,
    policies,
    prefixes,
    scopes,
    asked,
    st.sampled_from((AssertionKind.NEVER, AssertionKind.ALWAYS, AssertionKind.ONLY)),
    st.sampled_from((("User:a",), ("User:c",), ("User:a", "User:b"), ("User:*",))),
    rules,
)
def test_rules(
    world: World,
    policy: Policy,
    prefix: str,
    host: str,
    operation: AclOperation,
    kind: AssertionKind,
    principals: tuple[str, ...],
    networks: bool,
) -> None:
    """A rule is broken if, and only if, the solver finds a counterexample."""
    found = state(world, policy, networks=networks)
    rule = Assertion(
        kind, principals, ((TOPIC, (operation,)),), Extent(prefix), host, None, ("rules", 0)
    )
    scope = z3.And(in_extent(Extent(prefix)), has_client(host, networks=True))
    # No ACL and no rule names User:d.
    every = {"User:a", "User:b", "User:c", "User:d"}
    concerned = every if "User:*" in principals else set(principals)
    if kind is AssertionKind.ONLY:
        concerned = every - concerned
    if kind is AssertionKind.ONLY or (kind is AssertionKind.NEVER and "User:*" in principals):
        concerned -= policy.super_users
    is_broken = False
    for principal in concerned:
        formula = allowed(policy, world, principal, operation, networks=networks)
        wrong = z3.Not(formula) if kind is AssertionKind.ALWAYS else formula
        is_broken = is_broken or is_possible(scope, wrong)

    broken_by = counterexamples(found, rule)

    assert bool(broken_by) is is_broken
    for question in broken_by:
        assert allows(*found, question) is (kind is not AssertionKind.ALWAYS)


@SOLVED
@given(worlds, worlds, policies, prefixes, scopes, asked, rules)
def test_no_more_than_before(
    before: World,
    after: World,
    policy: Policy,
    prefix: str,
    host: str,
    operation: AclOperation,
    networks: bool,
) -> None:
    """It is broken if, and only if, something of it is newly allowed."""
    rule = Assertion(
        AssertionKind.NO_MORE, (), ((TOPIC, (operation,)),), Extent(prefix), host, None, ()
    )
    scope = z3.And(in_extent(Extent(prefix)), has_client(host, networks=True))
    expected = any(
        is_possible(
            scope,
            allowed(policy, after, each, operation, networks=networks),
            z3.Not(allowed(policy, before, each, operation, networks=networks)),
        )
        for each in ("User:a", "User:b", "User:c")
    )
    states = [state(each, policy, networks=networks) for each in (before, after)]

    found = counterexamples(states[1], rule, states[0])

    assert bool(found) is expected
    for question in found:
        assert [allows(*each, question) for each in states] == [False, True]
