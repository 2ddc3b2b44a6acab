"""Kafka's words in one form."""

from __future__ import annotations

import pytest

from doorkeeper.acl.formats import request_words


@pytest.mark.parametrize("text", ["DescribeConfigs", "DESCRIBE_CONFIGS", "describe_configs"])
def test_every_spelling_is_one_operation(text: str) -> None:
    """Eras, tools and vendors spell an operation differently."""
    assert request_words.operation(text) == "DESCRIBE_CONFIGS"


@pytest.mark.parametrize("text", ["All", "Any", "Unknown", "Frobnicate", ""])
def test_what_nobody_asks_for(text: str) -> None:
    """A request asks for one operation of Kafka's."""
    with pytest.raises(ValueError, match="operation"):
        request_words.operation(text)


def test_types_of_resources() -> None:
    """TransactionalId is TRANSACTIONAL_ID; what is none is refused."""
    assert request_words.resource_type("TransactionalId") == "TRANSACTIONAL_ID"
    with pytest.raises(ValueError, match="resource type"):
        request_words.resource_type("Any")
