"""Kafka's words as every source writes them, turned into one form: DESCRIBE_CONFIGS."""

from __future__ import annotations

from functools import lru_cache

from doorkeeper.acls.formats import names
from doorkeeper.acls.model import AclOperation, ResourceType

WORDS_MAX = 4096
"""Distinct spellings that are remembered; Kafka has some forty."""


@lru_cache(WORDS_MAX)
def operation(text: str) -> str:
    """Return an operation: Read, READ and read are READ.

    Raises:
        ValueError: it is none that a request can ask for.
    """
    member = names.operation(text)
    if member in (AclOperation.ANY, AclOperation.ALL, AclOperation.UNKNOWN):
        raise ValueError(
            f"operation: found {text!r}; expected: an operation that a request can have"
        )
    return member.name


@lru_cache(WORDS_MAX)
def resource_type(text: str) -> str:
    """Return a type of resources: TransactionalId and transactional_id are TRANSACTIONAL_ID."""
    member = names.resource_type(text)
    if member in (ResourceType.ANY, ResourceType.UNKNOWN):
        raise ValueError(f"resource type: found {text!r}; expected: the type of a resource")
    return member.name
