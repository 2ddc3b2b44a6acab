"""Between wire codes and the domain."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acl.model import (
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from doorkeeper.api import codes
from doorkeeper_wire.messages.delete_acls import DeleteAclsFilter
from testkit.acl import wanted


@pytest.mark.parametrize(
    ("read", "kind"),
    [
        (codes.resource_type, ResourceType),
        (codes.pattern_type, PatternType),
        (codes.operation, AclOperation),
        (codes.permission_type, AclPermissionType),
    ],
)
def test_every_byte_has_a_member(read: Any, kind: Any) -> None:
    """Known codes are themselves; all others, negative ones too, are UNKNOWN."""
    known = {member.value for member in kind}

    for code in range(-128, 128):
        assert read(code) is (kind(code) if code in known else kind.UNKNOWN)


def test_a_filter_keeps_its_nulls() -> None:
    """Null asks for any name, principal or host; an empty text asks for itself."""
    nulls = DeleteAclsFilter(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )

    assert codes.filter_of(nulls) == wanted()
    emptied = codes.filter_of(DeleteAclsFilter(resource_name_filter="", host_filter=""))
    assert (emptied.pattern.name, emptied.entry.host) == ("", "")
