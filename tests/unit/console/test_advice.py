"""What the pipeline's tables say of a grant."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.console.advice import Advice

if TYPE_CHECKING:
    from pathlib import Path

ACL = {
    "resourceType": "TOPIC",
    "name": "pii-",
    "patternType": "PREFIXED",
    "principal": "User:carol",
    "host": "10.0.0.0/8",
    "operation": "WRITE",
    "permissionType": "ALLOW",
}
DECISION = {
    "day": "2026-11-01",
    "resource_type": "TOPIC",
    "resource_name": "pii-a",
    "principal": "User:carol",
    "host": "10.1.2.3",
    "operation": "WRITE",
    "count": 5,
}


@pytest.mark.parametrize(
    ("acl", "decision", "uses"),
    [
        ({}, {}, 5),
        ({}, {"host": "192.0.2.1"}, 0),
        ({"host": "10.1.2.3"}, {}, 5),
        ({"host": "*"}, {"host": "192.0.2.1"}, 5),
        ({}, {"resource_name": "other"}, 0),
        ({"patternType": "LITERAL"}, {}, 0),
        ({"patternType": "LITERAL", "name": "*"}, {}, 5),
        ({}, {"resource_type": "GROUP"}, 0),
        ({}, {"principal": "User:bob"}, 0),
        ({"principal": "User:*"}, {"principal": "User:bob"}, 5),
        ({}, {"operation": "DESCRIBE"}, 5),
        ({}, {"operation": "READ"}, 0),
        ({"operation": "ALL"}, {"operation": "READ"}, 5),
        ({"permissionType": "DENY"}, {"operation": "DESCRIBE"}, 0),
        ({"permissionType": "DENY", "operation": "ALL"}, {"operation": "DESCRIBE"}, 5),
    ],
)
def test_uses_are_the_decisions_that_the_grant_covers(
    tmp_path: Path, acl: dict[str, str], decision: dict[str, Any], uses: int
) -> None:
    """As the authorizer covers them: by pattern, network and included operations."""
    rows = json.dumps(DECISION | decision)
    (tmp_path / "decisions.jsonl").write_text(f"{rows}\n", encoding="utf-8")

    found = Advice(tmp_path).uses_by_day({"acl": ACL | acl})

    assert found == ({"2026-11-01": uses} if uses else {})
