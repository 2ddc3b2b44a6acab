"""Topics, credentials and quotas, and the names that a file owns."""

from __future__ import annotations

import pytest

from doorkeeper.authn.credentials import ITERATIONS_MAX, ITERATIONS_MIN
from doorkeeper.entities.model import (
    CLIENT_QUOTAS,
    IP_QUOTAS,
    ITERATIONS,
    MECHANISMS,
    EntityName,
    EntityScope,
    EntitySet,
    OwnedName,
    Quota,
    TopicEntity,
    client_of,
)
from doorkeeper.quotas.alteration import _CLIENT_KEYS, _IP_KEYS
from doorkeeper.users.table import MECHANISM_CODES


def owned(
    name: str | None, *, is_prefix: bool = False, scope: EntityScope = EntityScope.TOPIC
) -> OwnedName:
    return OwnedName(EntityName(scope, name), is_prefix)


def test_the_words_are_those_of_the_server() -> None:
    """Mechanisms, iterations and limits."""
    assert tuple(MECHANISM_CODES) == MECHANISMS
    assert ITERATIONS == (ITERATIONS_MIN, ITERATIONS_MAX)
    assert (set(CLIENT_QUOTAS), set(IP_QUOTAS)) == (set(_CLIENT_KEYS), set(_IP_KEYS))


@pytest.mark.parametrize(
    ("left", "right", "both"),
    [
        (owned("a"), owned("a"), True),
        (owned("a"), owned("ab"), False),
        (owned("a", is_prefix=True), owned("ab"), True),
        (owned("a", is_prefix=True), owned("ab", is_prefix=True), True),
        (owned("a", is_prefix=True), owned("b", is_prefix=True), False),
        (owned("a"), owned("a", scope=EntityScope.USER), False),
        (owned("a", is_prefix=True), owned("a", is_prefix=True, scope=EntityScope.USER), False),
        (owned(None, scope=EntityScope.QUOTA_IP), owned(None, scope=EntityScope.QUOTA_IP), True),
        (
            owned("a", is_prefix=True, scope=EntityScope.QUOTA_IP),
            owned(None, scope=EntityScope.QUOTA_IP),
            False,
        ),
    ],
)
def test_overlaps(left: OwnedName, right: OwnedName, *, both: bool) -> None:
    """Two names overlap if one entity has both; the default of quotas has no prefix."""
    assert left.overlaps(right) is both
    assert right.overlaps(left) is both


def test_quotas_of_a_user_and_a_client_id_are_of_the_user() -> None:
    """Whatever the order in which a server names them."""
    parts = client_of({"client-id": "b", "user": "a"})

    assert Quota(parts, "producer_byte_rate", 1.0).owner_name == EntityName(
        EntityScope.QUOTA_USER, "a"
    )


def test_only_needed_topics_are_described() -> None:
    """All of them where a prefix is owned."""
    assert EntitySet((TopicEntity("a"),), owned=(owned("b"),)).topic_names == frozenset({"a", "b"})
    assert EntitySet(owned=(owned("b", is_prefix=True),)).topic_names is None
    assert not EntitySet(owned=(owned("b"),)).concerns(Quota)
