"""The questions that the authorizer of learning denies, and those that count."""

from __future__ import annotations

import pytest

from doorkeeper.acls.decision import Question
from doorkeeper.acls.model import AclOperation, ResourceType
from doorkeeper.cli.learn.requests import (
    AccessKey,
    CountedRequest,
    any_topic,
    counted_request,
    is_reported,
)
from doorkeeper_wire.api_keys import API_NAMES

METADATA, LIST_GROUPS, CREATE_TOPICS, INIT_PRODUCER_ID, CREATE_ACLS = 3, 16, 19, 22, 30
CLUSTER, TOPIC = ResourceType.CLUSTER, ResourceType.TOPIC


@pytest.mark.parametrize(
    ("api_key", "operation", "resource_type", "log_if_denied", "expected"),
    [
        (METADATA, AclOperation.DESCRIBE, TOPIC, True, True),
        (METADATA, AclOperation.DESCRIBE, TOPIC, False, False),
        (METADATA, AclOperation.DESCRIBE, CLUSTER, True, False),
        (METADATA, AclOperation.CREATE, TOPIC, True, True),
        (LIST_GROUPS, AclOperation.DESCRIBE, ResourceType.GROUP, False, False),
        (CREATE_TOPICS, AclOperation.DESCRIBE_CONFIGS, TOPIC, False, False),
        # kafka-authorizer.log does not tell; of Metadata both are possible.
        (CREATE_TOPICS, AclOperation.DESCRIBE_CONFIGS, TOPIC, None, False),
        (METADATA, AclOperation.DESCRIBE, TOPIC, None, True),
        (METADATA, AclOperation.READ, TOPIC, None, True),
    ],
)
def test_visible_denials_count(
    *,
    api_key: int,
    operation: AclOperation,
    resource_type: ResourceType,
    log_if_denied: bool | None,
    expected: bool,
) -> None:
    question = Question("User:a", "10.0.0.1", operation, resource_type, "n")

    assert is_reported(api_key, question, log_if_denied=log_if_denied) is expected


def test_allowed_question_on_a_type_counts() -> None:
    create = Question("User:a", "10.0.0.1", AclOperation.CREATE, CLUSTER, "kafka-cluster")
    idempotent = create._replace(operation=AclOperation.IDEMPOTENT_WRITE)
    listing = create._replace(operation=AclOperation.DESCRIBE)

    def counted(api_key: int, question: Question, *, allowed: bool) -> CountedRequest | None:
        return counted_request(AccessKey(question, API_NAMES[api_key], allowed))

    assert counted(METADATA, create, allowed=True) == (create, True, False)
    assert counted(METADATA, create, allowed=False) is None
    found = counted(INIT_PRODUCER_ID, idempotent, allowed=True)
    assert found == (any_topic(idempotent), True, True)
    assert counted(LIST_GROUPS, listing, allowed=True) == (listing, False, False)
