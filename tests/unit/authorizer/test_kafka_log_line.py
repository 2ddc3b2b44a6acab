"""Audit lines, byte for byte."""

from __future__ import annotations

import pytest

from doorkeeper.acl.decision import DEFAULT_ALLOW, DEFAULT_DENY, SUPER_USER, Decision, RuleKind
from doorkeeper.acl.model import AclOperation, PatternType, ResourcePattern, ResourceType
from doorkeeper.authorizer.contract import Action
from doorkeeper.authorizer.kafka_log_line import FORMS
from testkit.acl import DESCRIBE, PREFIXED, READ, deny, request_of, to, topic

ALICE = request_of("alice", host="10.0.0.7", api_key=3)


@pytest.mark.parametrize(
    ("form", "line"),
    [
        (
            "4.2",
            (
                "Principal = User:alice is Denied operation = DESCRIBE from host = 10.0.0.7 on"
                " resource"
                " = Topic:LITERAL:orders for request = Metadata with resourceRefCount = 1 based"
                " on rule"
                " DefaultDeny"
            ),
        ),
        (
            "3.3",
            (
                "Principal = User:alice is Denied operation = DESCRIBE from host = 10.0.0.7 on"
                " resource"
                " = Topic:LITERAL:orders for request = Metadata with resourceRefCount = 1 based"
                " on rule"
                " DefaultDeny"
            ),
        ),
        (
            "2.4",
            (
                "Principal = User:alice is Denied Operation = Describe from host = 10.0.0.7 on"
                " resource"
                " = Topic:LITERAL:orders for request = Metadata with resourceRefCount = 1"
            ),
        ),
        (
            "2.0",
            (
                "Principal = User:alice is Denied Operation = Describe from host = 10.0.0.7 on"
                " resource"
                " = Topic:LITERAL:orders"
            ),
        ),
        (
            "1.0",
            (
                "Principal = User:alice is Denied Operation = Describe from host = 10.0.0.7 on"
                " resource"
                " = Topic:orders"
            ),
        ),
    ],
    ids=list(FORMS),
)
def test_a_denial_in_every_form(form: str, line: str) -> None:
    """The forms that Kafka's releases print."""
    assert FORMS[form](ALICE, to(DESCRIBE, topic("orders")), DEFAULT_DENY) == line


@pytest.mark.parametrize(("form", "brackets"), [("4.2", "[]"), ("3.3", "()")])
def test_a_matching_acl_is_printed_in_the_brackets_of_its_release(form: str, brackets: str) -> None:
    """With all seven fields, in the broker's order."""
    binding = deny("bob", READ, topic("foo", PREFIXED))
    decision = Decision(
        allowed=False, rule=RuleKind.MATCHING_ACL, binding=binding, binding_id="x" * 22
    )

    line = FORMS[form](request_of("bob", api_key=1), to(READ, topic("foobar")), decision)

    assert line == (
        "Principal = User:bob is Denied operation = READ from host = 10.0.0.1 on resource ="
        " Topic:LITERAL:foobar for request = Fetch with resourceRefCount = 1 based on rule"
        f" MatchingAcl(acl=StandardAcl{brackets[0]}resourceType=TOPIC, resourceName=foo,"
        " patternType=PREFIXED, principal=User:bob, host=*, operation=READ, permissionType=DENY"
        f"{brackets[1]})"
    )


@pytest.mark.parametrize(
    ("decision", "rule"), [(SUPER_USER, "SuperUser"), (DEFAULT_ALLOW, "DefaultAllow")]
)
def test_other_rules_are_one_word(decision: Decision, rule: str) -> None:
    """And the access is allowed."""
    line = FORMS["4.2"](ALICE, to(READ, topic("t")), decision)

    assert line.startswith("Principal = User:alice is Allowed operation = READ ")
    assert line.endswith(f" based on rule {rule}")


@pytest.mark.parametrize(
    ("resource_type", "operation", "words"),
    [
        (ResourceType.TRANSACTIONAL_ID, AclOperation.TWO_PHASE_COMMIT, "TransactionalId"),
        (ResourceType.DELEGATION_TOKEN, AclOperation.DESCRIBE, "DelegationToken"),
        (ResourceType.CLUSTER, AclOperation.IDEMPOTENT_WRITE, "Cluster"),
        (ResourceType.USER, AclOperation.CREATE_TOKENS, "User"),
    ],
)
def test_types_and_operations_have_kafkas_words(
    resource_type: ResourceType, operation: AclOperation, words: str
) -> None:
    """Types are always in Pascal case; operations only in the older forms."""
    action = Action(operation, ResourcePattern(resource_type, "n", PatternType.LITERAL), 3)
    pascal = "".join(part.capitalize() for part in operation.name.split("_"))

    new, old = (FORMS[form](ALICE, action, DEFAULT_DENY) for form in ("4.2", "2.4"))

    assert f" operation = {operation.name} " in new
    assert f" Operation = {pascal} " in old
    for line in (new, old):
        assert f" on resource = {words}:LITERAL:n " in line
        assert " with resourceRefCount = 3" in line


def test_nothing_is_escaped_and_unknown_requests_are_numbers() -> None:
    """A reader of the log must parse from both ends, as with Kafka."""
    line = FORMS["4.2"](
        request_of("a b", api_key=4711), to(READ, topic("x for request = y\n")), DEFAULT_DENY
    )

    assert "Principal = User:a b is" in line
    assert "Topic:LITERAL:x for request = y\n for request = 4711 with" in line
