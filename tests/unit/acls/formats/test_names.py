"""The words of all formats."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acls.formats import names, request_words
from doorkeeper.acls.formats.names import FormatError
from doorkeeper.acls.model import AclOperation, PatternType, ResourceType

FIELDS: dict[str, Any] = {
    "resource": "TOPIC", "name": "t", "pattern": "LITERAL", "principal": "User:a", "host": "*",
    "does": "READ", "permission": "ALLOW",
}  # fmt: skip


def test_words_are_read_in_all_spellings() -> None:
    """As Kafka's tools, its Java classes and people write them."""
    for text in ("TRANSACTIONAL_ID", "TransactionalId", "transactional-id"):
        assert names.resource_type(text) is ResourceType.TRANSACTIONAL_ID
    for text in ("DescribeConfigs", "DESCRIBE_CONFIGS", "describe_configs"):
        assert request_words.operation(text) == "DESCRIBE_CONFIGS"


def test_what_means_nothing_is_refused() -> None:
    """UNKNOWN, ANY and MATCH are for the wire and for filters; nobody asks for ALL."""
    assert names.operation("all") is AclOperation.ALL
    assert names.pattern_type("prefixed") is PatternType.PREFIXED
    for kind in (names.operation, names.resource_type, names.pattern_type, names.permission_type):
        for text in ("ANY", "UNKNOWN", "", "MATCH"):
            with pytest.raises(FormatError, match="allowed: "):
                kind(text)
    for text in ("All", "Any", "Unknown", "Frobnicate", ""):
        with pytest.raises(ValueError, match="operation"):
            request_words.operation(text)
    with pytest.raises(ValueError, match="resource type"):
        request_words.resource_type("Any")


def test_principals_without_a_type() -> None:
    """They are refused, but where somebody looks for them; all else is refused there too."""
    bare = FIELDS | {"principal": "alice"}

    with pytest.raises(FormatError, match="Could not parse principal from `alice`"):
        names.binding_of(**bare, bare_principals=False)
    assert names.binding_of(**bare, bare_principals=True).entry.principal == "alice"
    with pytest.raises(FormatError, match="should not be empty"):
        names.binding_of(**bare | {"name": ""}, bare_principals=True)
    with pytest.raises(FormatError, match="Resource name holds half of a surrogate pair"):
        names.binding_of(**FIELDS | {"name": "a\ud800"})
