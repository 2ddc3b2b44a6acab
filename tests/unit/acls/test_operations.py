"""Operations: which exist where, what they imply, which bits they are."""

from __future__ import annotations

from itertools import product

import pytest

from doorkeeper.acls.model import AclOperation, AclPermissionType, ResourcePattern, ResourceType
from doorkeeper.acls.operations import (
    ALLOW_TESTS,
    DENY_SHIFT,
    DENY_TESTS,
    EXACT_ALLOW_TESTS,
    SUPPORTED_OPERATIONS,
    effects,
    entries_of,
    entry_bit,
    full_mask,
    satisfied_by,
)
from testkit.acl import LITERAL, READ, WRITE, allow, deny

ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
REAL = [each for each in AclOperation if each >= AclOperation.ALL]


@pytest.mark.parametrize(
    ("resource_type", "mask"),
    [
        (ResourceType.TOPIC, 3576),
        (ResourceType.GROUP, 3400),
        (ResourceType.CLUSTER, 8096),
        (ResourceType.UNKNOWN, 0),
    ],
)
def test_authorized_operations_of_a_super_user(resource_type: ResourceType, mask: int) -> None:
    """The authorized operations of a super user, as a broker of 4.0 and later sends them."""
    assert full_mask(resource_type) == mask


def test_describe_is_implied_by_four_operations() -> None:
    """DESCRIBE and DESCRIBE_CONFIGS follow from others; every other operation only from ALL."""
    implied = {
        each.name: {other.name for other in REAL if satisfied_by(each, other)} for each in REAL
    }

    assert implied.pop("DESCRIBE") == {"DESCRIBE", "READ", "WRITE", "DELETE", "ALTER", "ALL"}
    assert implied.pop("DESCRIBE_CONFIGS") == {"DESCRIBE_CONFIGS", "ALTER_CONFIGS", "ALL"}
    assert implied == {name: {name, "ALL"} for name in implied}


def test_mask_bits_match_single_entry_rules() -> None:
    for asked, held in product(REAL, REAL):
        exact = held in (asked, AclOperation.ALL)

        assert bool(ALLOW_TESTS[asked] & entry_bit(held, ALLOW)) == satisfied_by(asked, held)
        assert bool(EXACT_ALLOW_TESTS[asked] & entry_bit(held, ALLOW)) == exact
        assert bool(DENY_TESTS[asked] & entry_bit(held, DENY)) == exact
        assert not ALLOW_TESTS[asked] & entry_bit(held, DENY)
        assert not DENY_TESTS[asked] & entry_bit(held, ALLOW)


def test_mask_entries_are_ordered() -> None:
    mask = entry_bit(WRITE, ALLOW) | entry_bit(READ, ALLOW) | entry_bit(READ, DENY)

    assert entries_of(mask) == [(READ, DENY), (READ, ALLOW), (WRITE, ALLOW)]
    assert entries_of(0) == []


def test_effects_match_mask_tests() -> None:
    for kind, operation in product(SUPPORTED_OPERATIONS, AclOperation):
        pattern = ResourcePattern(kind, "n", LITERAL)
        asked = SUPPORTED_OPERATIONS[kind]
        assert effects(allow("a", operation, pattern)) == tuple(
            each for each in asked if ALLOW_TESTS[each] & 1 << operation
        )
        assert effects(deny("a", operation, pattern)) == tuple(
            each for each in asked if DENY_TESTS[each] & 1 << operation + DENY_SHIFT
        )
