"""doorkeeper.dissector.code_names."""

from __future__ import annotations

import pytest

from doorkeeper.dissector.code_names import code_name


@pytest.mark.parametrize(
    ("api", "field", "value", "name"),
    [
        ("DescribeAcls", "ApiKey", 29, "DescribeAcls"),
        ("CreateAcls", "ResourceType", 4, "CLUSTER"),
        ("DescribeConfigs", "ResourceType", 4, "BROKER"),
        ("CreateAcls", "ResourcePatternType", 4, "PREFIXED"),
        ("DescribeAcls", "Operation", 3, "READ"),
        ("DescribeAcls", "PermissionType", 2, "DENY"),
        ("DescribeAcls", "ErrorCode", 0, "NONE"),
        ("IncrementalAlterConfigs", "ConfigOperation", 2, "APPEND"),
        ("AlterUserScramCredentials", "Mechanism", 1, "SCRAM-SHA-256"),
        ("FindCoordinator", "KeyType", 0, "GROUP"),
        ("DescribeAcls", "Operation", 99, None),
        ("DescribeAcls", "CorrelationId", 3, None),
        ("SaslHandshake", "Mechanism", "PLAIN", None),
    ],
)
def test_names(api: str, field: str, value: object, name: str | None) -> None:
    """A code has the name that its field gives it; an unknown one has none."""
    assert code_name(api, field, value) == name
