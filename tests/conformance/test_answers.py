"""Examples of answers about many names and clients, confirmed by Kafka's StandardAuthorizer.

Each example of explain, who-can, effective changes and rules is asked there: the decision has to be
the one that the answer shows, and the authorizer log line has to name the same rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings

from doorkeeper.acl.assertions import Assertion, AssertionKind, counterexamples
from doorkeeper.acl.cases import Space, cases
from doorkeeper.acl.decision import Policy, Question, explain
from doorkeeper.acl.effective_changes import DecisionState, effective_changes
from doorkeeper.acl.model import ResourceType
from doorkeeper.acl.regions import Extent
from doorkeeper.acl.tasks import TaskNeed, task_access
from testkit.acl_worlds import loaded
from testkit.oracle_authorizer import WITH_NETWORKS, AuthorizerOracle, compared
from testkit.question_worlds import ASKED, policies, prefixes, scopes, worlds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from doorkeeper.acl.model import AclBinding
    from testkit.oracle_totals import Totals

    Authorizers = Callable[[str], AuthorizerOracle]

RELEASES = ("4.3.1", WITH_NETWORKS)
TOPIC = ResourceType.TOPIC
LITERAL = 3
DESCRIBE_TOPICS = 3


def confirm(
    oracle: AuthorizerOracle, world: Sequence[AclBinding], policy: Policy, asked: list[Question]
) -> None:
    """Ask Kafka the questions; its decisions and log lines are ours."""
    snapshot = loaded(*world).with_network_matching(enabled=oracle.release == WITH_NETWORKS)
    document = {
        "configs": {
            "super.users": ";".join(policy.super_users),
            "allow.everyone.if.no.acl.found": str(policy.allow_everyone).lower(),
        },
        "acls": [[*pattern, *entry] for pattern, entry in world],
        "added": [],
        "removed": [],
        "questions": [_row(each) for each in asked],
        "by_type": [],
        "filters": [],
    }
    kafka = oracle.answer(document)
    assert not compared(document, kafka, oracle.our_answer(document)).different
    for question, (result, *_) in zip(asked, kafka["questions"], strict=True):
        assert (result == "ALLOWED") is explain(policy, snapshot, question).allowed, question


def _row(question: Question) -> list[Any]:
    kind, _, name = question.principal.partition(":")
    resource = (question.resource_type.value, question.name, LITERAL)
    return [
        *(kind, name, question.host, question.operation.value),
        *(*resource, DESCRIBE_TOPICS, 1, True, True),
    ]


@pytest.mark.parametrize("release", RELEASES)
@settings(max_examples=150, deadline=None)
@given(world=worlds, other=worlds, policy=policies, prefix=prefixes, host=scopes)
def test_examples(
    authorizers: Authorizers,
    totals: Totals,
    release: str,
    world: list[AclBinding],
    other: list[AclBinding],
    policy: Policy,
    prefix: str,
    host: str,
) -> None:
    """Each has the decision that the answer shows, before and after a change too."""
    oracle = authorizers(release)
    state, after = (
        DecisionState(policy, loaded(*each).with_network_matching(enabled=release == WITH_NETWORKS))
        for each in (world, other)
    )
    names = Extent(prefix)
    asked: dict[Question, bool] = {}
    for operation in ASKED:
        for principal in ("User:a", "User:b", "User:c"):
            found = cases(*state, Space(principal, host, operation, TOPIC, names))
            asked |= {each.question: each.decision.allowed for each in found}
        for access in task_access(*state, host, [TaskNeed(operation, TOPIC, names)]):
            asked |= dict.fromkeys(access.allowed, True)
            if access.denied is not None:
                asked[access.denied] = False
        for kind, principals in (
            (AssertionKind.ONLY, ("User:a",)),
            (AssertionKind.ALWAYS, ("User:*",)),
        ):
            rule = Assertion(kind, principals, ((TOPIC, (operation,)),), names, host, None, ())
            is_allowed = kind is AssertionKind.ONLY
            asked |= dict.fromkeys(counterexamples(state, rule), is_allowed)
    changes = effective_changes(state, after)
    asked |= {each.example: not each.allowed for each in changes}
    confirm(oracle, world, policy, list(asked))
    confirm(oracle, other, policy, [each.example for each in changes])
    for question, is_allowed in asked.items():
        assert explain(*state, question).allowed is is_allowed
    for change in changes:
        assert explain(*after, change.example).allowed is change.allowed
    totals.compared[f"examples of answers about many names of {release}"] += len(asked)
