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
from doorkeeper.authorizer.contract import AclBindingDeleteResult, AclDeleteResult
from doorkeeper.errors import DEFAULT_MESSAGES, ApiError, ErrorCode
from doorkeeper_wire.messages.create_acls import AclCreation
from doorkeeper_wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsFilterResult
from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest
from testkit.acl import PREFIXED, READ, WRITE, allow, deny, topic, wanted

FILTER: dict[str, Any] = {
    "resource_type_filter": 2,
    "pattern_type_filter": 3,
    "operation": 3,
    "permission_type": 3,
}
CREATION: dict[str, Any] = {
    "resource_type": 2,
    "resource_pattern_type": 3,
    "operation": 3,
    "permission_type": 3,
    "resource_name": "orders",
    "principal": "User:alice",
    "host": "*",
}


def codes_of(code: int) -> dict[str, Any]:
    """Return the fields of a filter with one code in all of them."""
    return dict.fromkeys(FILTER, code)


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


@pytest.mark.parametrize("field", FILTER)
def test_code_0_is_found_in_each_field_of_a_filter(field: str) -> None:
    """The error names the field; the offset is not known any more."""
    request = DescribeAclsRequest(**{**FILTER, field: 0})

    with pytest.raises(codes.UnknownElements) as caught:
        codes.check_describe(request)
    assert (caught.value.field, caught.value.offset) == (field, -1)
    with pytest.raises(codes.UnknownElements):
        codes.check_filters([DeleteAclsFilter(**FILTER), DeleteAclsFilter(**{**FILTER, field: 0})])


def test_other_codes_pass_the_check() -> None:
    """ANY, MATCH and codes that Kafka does not know are no malformed requests."""
    for code in (1, 2, 99, -1):
        codes.check_describe(DescribeAclsRequest(**codes_of(code)))
        codes.check_filters([DeleteAclsFilter(**codes_of(code))])


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


def test_a_creation_becomes_a_binding() -> None:
    """All seven fields, as they are written."""
    assert codes.binding_of(AclCreation(**CREATION)) == allow("alice", READ, topic("orders"))


@pytest.mark.parametrize(
    ("field", "code"),
    [
        ("resource_type", 1),
        ("resource_pattern_type", 1),
        ("resource_pattern_type", 2),
        ("operation", 1),
        ("permission_type", 1),
    ],
)
def test_no_binding_has_any_or_match_in_it(field: str, code: int) -> None:
    """The error is -1 and says nothing to the client."""
    with pytest.raises(ApiError) as caught:
        codes.binding_of(AclCreation(**{**CREATION, field: code}))
    assert caught.value.code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_bindings_are_grouped_by_pattern() -> None:
    """The order of what comes in does not matter, nor that something comes twice."""
    bindings = [
        allow("b", WRITE, topic("z")),
        deny("a", READ, topic("a", PREFIXED)),
        allow("a", READ, topic("z")),
        allow("a", READ, topic("z")),
    ]

    rows = codes.resource_rows(bindings)

    assert rows == codes.resource_rows(reversed(bindings))
    assert [(row.resource_name, row.pattern_type) for row in rows] == [("a", 4), ("z", 3)]
    assert [(acl.principal, acl.operation, acl.permission_type) for acl in rows[1].acls] == [
        ("User:a", 3, 3),
        ("User:b", 4, 3),
    ]
    assert codes.resource_rows([]) == ()


def test_a_filter_that_failed_has_no_matches() -> None:
    """Its code and its text; null where the text is the stock text."""
    failed = AclDeleteResult(ApiError(ErrorCode.INVALID_REQUEST, "why"))
    disabled = ErrorCode.SECURITY_DISABLED
    stock = AclDeleteResult(ApiError(disabled, DEFAULT_MESSAGES[disabled]))

    assert codes.filter_result(failed) == DeleteAclsFilterResult(error_code=42, error_message="why")
    assert codes.filter_result(stock).error_message is None


def test_a_match_may_fail_alone() -> None:
    """The row of the binding says so, the filter stays well."""
    binding = allow("alice", READ, topic("orders"))
    result = AclDeleteResult(
        bindings=(
            AclBindingDeleteResult(binding),
            AclBindingDeleteResult(binding, ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "full")),
        )
    )

    row = codes.filter_result(result)

    assert (row.error_code, row.error_message) == (0, None)
    assert [(each.error_code, each.error_message) for each in row.matching_acls] == [
        (0, None),
        (56, "full"),
    ]
