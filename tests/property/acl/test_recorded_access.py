"""The least ACLs of recorded requests, beside every smaller set of them."""

import datetime as dt
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from doorkeeper.acls.bulk import load
from doorkeeper.acls.by_type import allowed_on_some
from doorkeeper.acls.decision import Policy, Question, allows
from doorkeeper.acls.model import CLUSTER_NAME, AclBinding, AclOperation, ResourceType
from doorkeeper.acls.operations import SUPPORTED_OPERATIONS
from doorkeeper.acls.recorded_access import RecordedAccess, least_acls, unneeded_acls
from testkit.acl import allow, cluster, topic
from testkit.acl_worlds import worlds

FIRST = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
NAMES = {ResourceType.CLUSTER: (CLUSTER_NAME,)}
questions = st.sampled_from(
    [
        Question(principal, "10.0.0.1", operation, resource_type, name)
        for principal in ("User:a", "User:b")
        for resource_type in (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER)
        for operation in SUPPORTED_OPERATIONS[resource_type]
        for name in NAMES.get(resource_type, ("a", "ab"))
    ]
)
any_topic = st.sampled_from(
    [
        Question(principal, "10.0.0.1", AclOperation.WRITE, ResourceType.TOPIC, "*")
        for principal in ("User:a", "User:b")
    ]
)
accesses = st.lists(
    st.builds(
        lambda question, uses: RecordedAccess(question, "Api", True, True, uses, FIRST),
        questions,
        st.integers(1, 3),
    )
    | any_topic.map(
        lambda question: RecordedAccess(question, "Api", True, True, 1, FIRST, on_any=True)
    ),
    max_size=12,
)


def is_allowed(bindings: Sequence[AclBinding], access: RecordedAccess) -> bool:
    """Decide as a broker does: any topic is asked about behind IDEMPOTENT_WRITE."""
    snapshot = load(("", each) for each in bindings)
    question = access.question
    if not access.on_any:
        return allows(Policy(), snapshot, question)
    wide = Question(
        question.principal,
        question.host,
        AclOperation.IDEMPOTENT_WRITE,
        ResourceType.CLUSTER,
        CLUSTER_NAME,
    )
    return allows(Policy(), snapshot, wide) or allowed_on_some(
        snapshot,
        question.resource_type,
        question.operation,
        principal=question.principal,
        host=question.host,
    )


@settings(max_examples=60, deadline=None)
@given(recorded=accesses)
def test_minimal_acls_are_sufficient_and_necessary(recorded: list[RecordedAccess]) -> None:
    found = least_acls(recorded)

    bindings = [each.binding for each in found]
    assert all(is_allowed(bindings, each) for each in recorded)
    for needed in found:
        others = [each for each in bindings if each != needed.binding]
        denied = [each for each in recorded if not is_allowed(others, each)]
        assert denied
        assert set(denied) <= set(needed.reasons) | {each for each in denied if each.on_any}


@settings(max_examples=50, deadline=None)
@given(bindings=worlds, recorded=accesses)
def test_unneeded_acls_change_no_recorded_decision(
    bindings: list[AclBinding], recorded: list[RecordedAccess]
) -> None:
    """Without all of them each access stays allowed; each other ALLOW is needed by one."""
    snapshot = load(("", each) for each in bindings)
    recorded = [
        each for each in recorded if not each.on_any and allows(Policy(), snapshot, each.question)
    ]

    found = unneeded_acls(bindings, recorded)

    left = [each for each in bindings if each not in found]
    assert all(is_allowed(left, each) for each in recorded)
    assert unneeded_acls(left, recorded) == []


def test_idempotent_write_is_unneeded_with_write_on_a_topic() -> None:
    idempotent = allow("a", AclOperation.IDEMPOTENT_WRITE, cluster(CLUSTER_NAME))
    write = allow("a", AclOperation.WRITE, topic("a"))
    question = Question("User:a", "10.0.0.1", AclOperation.WRITE, ResourceType.TOPIC, "a")
    produced = RecordedAccess(question, "Produce", True, True, 1, FIRST)
    began = replace(produced, question=question._replace(name="*"), on_any=True)

    assert unneeded_acls([idempotent, write], [began, produced]) == [idempotent]
    assert unneeded_acls([idempotent], [began]) == []
