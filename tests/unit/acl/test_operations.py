"""Operations: which exist where, what they imply, which bits they are."""

from __future__ import annotations

from itertools import product

import pytest

from doorkeeper.acl.model import AclOperation, AclPermissionType, ResourcePattern, ResourceType
from doorkeeper.acl.operations import (
    ALLOW_TESTS,
    DENY_SHIFT,
    DENY_TESTS,
    EXACT_ALLOW_TESTS,
    IMPLIED_OPERATIONS,
    SUPPORTED_OPERATIONS,
    effects,
    entries_of,
    entry_bit,
    full_mask,
    satisfied_by,
)
from testkit.acl import LITERAL, READ, WRITE, allow, deny, group, topic

ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
REAL = [each for each in AclOperation if each >= AclOperation.ALL]


def test_what_an_allow_includes() -> None:
    """The other direction of the same rules; ALL includes every real operation, and no other."""
    for held in REAL:
        implied = {asked for asked in REAL if asked is not held and satisfied_by(asked, held)}
        assert IMPLIED_OPERATIONS[held] == implied - {AclOperation.ALL}


@pytest.mark.parametrize(
    ("resource_type", "mask"),
    [
        (ResourceType.TOPIC, 3576),
        (ResourceType.GROUP, 3400),
        (ResourceType.CLUSTER, 8096),
        (ResourceType.UNKNOWN, 0),
    ],
)
def test_full_masks_are_those_of_kafka(resource_type: ResourceType, mask: int) -> None:
    """The authorized operations of a super user, as a broker of 4.0 and later sends them."""
    assert full_mask(resource_type) == mask


def test_supported_operations_are_listed_by_code() -> None:
    """Every real resource type has some, in ascending order, and ALL is never one."""
    assert set(SUPPORTED_OPERATIONS) == set(ResourceType) - {ResourceType.UNKNOWN, ResourceType.ANY}
    for operations in SUPPORTED_OPERATIONS.values():
        assert AclOperation.ALL not in operations
        assert len(set(operations)) == len(operations) > 0


def test_describe_is_implied_by_four_operations() -> None:
    """DESCRIBE and DESCRIBE_CONFIGS follow from others; every other operation only from ALL."""
    implied = {
        each.name: {other.name for other in REAL if satisfied_by(each, other)} for each in REAL
    }

    assert implied.pop("DESCRIBE") == {"DESCRIBE", "READ", "WRITE", "DELETE", "ALTER", "ALL"}
    assert implied.pop("DESCRIBE_CONFIGS") == {"DESCRIBE_CONFIGS", "ALTER_CONFIGS", "ALL"}
    assert implied == {name: {name, "ALL"} for name in implied}


@pytest.mark.parametrize("asked", REAL)
@pytest.mark.parametrize("held", REAL)
def test_bits_tell_what_satisfies_and_what_denies(asked: AclOperation, held: AclOperation) -> None:
    """A test against a mask of one entry is the rule for that entry."""
    exact = held in (asked, AclOperation.ALL)

    assert bool(ALLOW_TESTS[asked] & entry_bit(held, ALLOW)) == satisfied_by(asked, held)
    assert bool(EXACT_ALLOW_TESTS[asked] & entry_bit(held, ALLOW)) == exact
    assert bool(DENY_TESTS[asked] & entry_bit(held, DENY)) == exact
    assert not ALLOW_TESTS[asked] & entry_bit(held, DENY)
    assert not DENY_TESTS[asked] & entry_bit(held, ALLOW)


def test_a_mask_gives_its_entries_back_in_order() -> None:
    """By operation, then DENY before ALLOW."""
    mask = entry_bit(WRITE, ALLOW) | entry_bit(READ, ALLOW) | entry_bit(READ, DENY)

    assert entries_of(mask) == [(READ, DENY), (READ, ALLOW), (WRITE, ALLOW)]
    assert entries_of(0) == []


def test_effects_are_what_the_tests_of_a_mask_find() -> None:
    """For every type, operation and permission."""
    for kind, operation in product(SUPPORTED_OPERATIONS, AclOperation):
        pattern = ResourcePattern(kind, "n", LITERAL)
        asked = SUPPORTED_OPERATIONS[kind]
        assert effects(allow("a", operation, pattern)) == tuple(
            each for each in asked if ALLOW_TESTS[each] & 1 << operation
        )
        assert effects(deny("a", operation, pattern)) == tuple(
            each for each in asked if DENY_TESTS[each] & 1 << operation + DENY_SHIFT
        )


def test_effects_count_what_is_implied() -> None:
    """WRITE on a group lets describe it; denied, or on a user, it does nothing."""
    assert effects(allow("a", WRITE, group("g"))) == (AclOperation.DESCRIBE,)
    assert effects(deny("a", WRITE, group("g"))) == ()
    assert effects(allow("a", AclOperation.CREATE_TOKENS, topic("t"))) == ()
    assert (
        effects(deny("a", AclOperation.ALL, group("g")))
        == (SUPPORTED_OPERATIONS[ResourceType.GROUP])
    )
