"""The evaluator of the pipeline against Kafka's StandardAuthorizer, in random worlds."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper.acls.decision import Policy, Question
from doorkeeper.acls.model import AclBinding, PatternType
from doorkeeper_pipeline.evaluation.index import compile_index, distinct
from testkit.acl_worlds import networked_worlds, policies, questions, worlds
from testkit.asked import answers_to
from testkit.oracle_authorizer import WITH_NETWORKS, AuthorizerOracle
from testkit.oracle_totals import Totals
from testkit.oracle_worlds import kafka_is_lost

RELEASES = ("4.4.0", "4.3.1")
METADATA = 3


@pytest.mark.parametrize("release", RELEASES)
@settings(max_examples=300, deadline=None)
@given(
    world=st.one_of(worlds, networked_worlds),
    policy=policies,
    asking=st.lists(questions, min_size=10, max_size=30),
)
def test_evaluator_decides_as_kafka(
    authorizers: Callable[[str], AuthorizerOracle],
    totals: Totals,
    world: list[AclBinding],
    policy: Policy,
    asking: list[Question],
    release: str,
) -> None:
    """Every question has Kafka's answer, but where Kafka has none; with networks and without."""
    bindings = distinct(world)
    acls = [_row(each) for each in bindings]
    answerable = [each for each in asking if _is_answerable(acls, each)]

    answers = authorizers(release).answer(
        {
            "configs": {
                "super.users": ";".join(sorted(policy.super_users)),
                "allow.everyone.if.no.acl.found": str(policy.allow_everyone).lower(),
            },
            "acls": acls,
            "added": [],
            "removed": [],
            "questions": [_asked(each) for each in answerable],
            "by_type": [],
            "filters": [],
        }
    )["questions"]

    index = compile_index(bindings, policy, networks=release == WITH_NETWORKS)
    found = [row["allowed"] for row in answers_to(answerable, index)]
    assert found == [answer[0] == "ALLOWED" for answer in answers]
    totals.compared[f"decisions of the pipeline's evaluator of {release}"] += len(answers)


def _is_answerable(acls: list[Any], question: Question) -> bool:
    # Whoever asks as User:* makes Kafka fail, and some names make it walk for ever.
    return question.principal != "User:*" and not kafka_is_lost(acls, _asked(question))


def _row(binding: AclBinding) -> list[Any]:
    (resource_type, name, pattern_type), entry = binding
    return [
        int(resource_type),
        name,
        int(pattern_type),
        entry.principal,
        entry.host,
        int(entry.operation),
        int(entry.permission_type),
    ]


def _asked(question: Question) -> list[Any]:
    kind, _, name = question.principal.partition(":")
    what, where = int(question.operation), int(question.resource_type)
    literal = int(PatternType.LITERAL)
    return [
        *(kind, name, question.host, what, where, question.name),
        *(literal, METADATA, 1, True, True),
    ]
