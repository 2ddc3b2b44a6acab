"""Audit lines of Kafka's releases; test_recorded_answers.py has those of 4.4, 4.3 and 3.9."""

from __future__ import annotations

import pytest

from doorkeeper.acls.decision import DEFAULT_DENY
from doorkeeper.acls.model import AclOperation, PatternType, ResourcePattern, ResourceType
from doorkeeper.server.authorizer.authorizer_log import FORMS
from doorkeeper.server.authorizer.contract import Action
from testkit.acl import DESCRIBE, READ, request_of, to, topic

ALICE = request_of("alice", host="10.0.0.7", api_key=3)


NEWER = (
    "Principal = User:alice is Denied operation = DESCRIBE from host = 10.0.0.7 on resource ="
    " Topic:LITERAL:orders for request = Metadata with resourceRefCount = 1 based on rule"
    " DefaultDeny"
)
OLDER = (
    "Principal = User:alice is Denied Operation = Describe from host = 10.0.0.7 on resource ="
    " Topic:LITERAL:orders for request = Metadata with resourceRefCount = 1"
)


@pytest.mark.parametrize(
    ("form", "line"),
    [
        ("4.2", NEWER),
        ("3.3", NEWER),
        ("2.4", OLDER),
        ("2.0", OLDER.partition(" for request")[0]),
        ("1.0", OLDER.partition(" for request")[0].replace("LITERAL:", "")),
    ],
)
def test_denial_in_every_format(form: str, line: str) -> None:
    """The forms that Kafka's releases print."""
    assert FORMS[form](ALICE, to(DESCRIBE, topic("orders")), DEFAULT_DENY) == line


@pytest.mark.parametrize(
    ("resource_type", "operation", "words"),
    [
        (ResourceType.TRANSACTIONAL_ID, AclOperation.TWO_PHASE_COMMIT, "TransactionalId"),
        (ResourceType.DELEGATION_TOKEN, AclOperation.DESCRIBE, "DelegationToken"),
        (ResourceType.USER, AclOperation.CREATE_TOKENS, "User"),
    ],
)
def test_types_and_operations_have_kafkas_names(
    resource_type: ResourceType, operation: AclOperation, words: str
) -> None:
    action = Action(operation, ResourcePattern(resource_type, "n", PatternType.LITERAL), 3)
    pascal = "".join(part.capitalize() for part in operation.name.split("_"))

    new, old = (FORMS[form](ALICE, action, DEFAULT_DENY) for form in ("4.2", "2.4"))

    assert f" operation = {operation.name} " in new
    assert f" Operation = {pascal} " in old
    for line in (new, old):
        assert f" on resource = {words}:LITERAL:n " in line
        assert " with resourceRefCount = 3" in line


def test_names_are_not_escaped_and_unknown_requests_are_numbers() -> None:
    """A reader of the log must parse from both ends, as with Kafka."""
    line = FORMS["4.2"](
        request_of("a b", api_key=4711), to(READ, topic("x for request = y\n")), DEFAULT_DENY
    )

    assert "Principal = User:a b is" in line
    assert "Topic:LITERAL:x for request = y\n for request = 4711 with" in line
