"""Topics, credentials and quotas, and the names that a file owns."""

from __future__ import annotations

import pytest

from doorkeeper.acls.entities.model import (
    EntityName,
    EntityScope,
    EntitySet,
    OwnedName,
    Quota,
    TopicEntity,
)


def owned(
    name: str | None, *, is_prefix: bool = False, scope: EntityScope = EntityScope.TOPIC
) -> OwnedName:
    return OwnedName(EntityName(scope, name), is_prefix)


A, A_PREFIX, IP_DEFAULT = (
    owned("a"),
    owned("a", is_prefix=True),
    owned(None, scope=EntityScope.QUOTA_IP),
)


@pytest.mark.parametrize(
    ("left", "right", "both"),
    [
        (A, A, True),
        (A, owned("ab"), False),
        (A_PREFIX, owned("ab"), True),
        (A_PREFIX, owned("ab", is_prefix=True), True),
        (A_PREFIX, owned("b", is_prefix=True), False),
        (A_PREFIX, owned("a", is_prefix=True, scope=EntityScope.USER), False),
        (IP_DEFAULT, IP_DEFAULT, True),
        (owned("a", is_prefix=True, scope=EntityScope.QUOTA_IP), IP_DEFAULT, False),
    ],
)
def test_owned_names_overlap(left: OwnedName, right: OwnedName, *, both: bool) -> None:
    assert left.overlaps(right) is both
    assert right.overlaps(left) is both


def test_only_needed_topics_are_described() -> None:
    """All of them where a prefix is owned."""
    assert EntitySet((TopicEntity("a"),), owned=(owned("b"),)).topic_names == frozenset({"a", "b"})
    assert EntitySet(owned=(owned("b", is_prefix=True),)).topic_names is None
    assert not EntitySet(owned=(owned("b"),)).concerns(Quota)
