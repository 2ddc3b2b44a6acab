"""Converts wire codes to domain values and back.

Messages carry Kafka's codes as received, one signed byte each. Three kinds are distinguished:

    0               the code of UNKNOWN itself: the request is malformed and not answered
    1 and, for
    pattern types, 2  ANY and MATCH: for filters only
    any other number  a code that Kafka does not know becomes UNKNOWN, which the API handles

Source: the broker's request classes of the three ACL APIs (``validate`` and the conversions).
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from doorkeeper.acls.codes import OPERATIONS, PATTERN_TYPES, PERMISSION_TYPES, RESOURCE_TYPES
from doorkeeper.acls.model import (
    AccessControlEntry,
    AccessControlEntryFilter,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePatternFilter,
    ResourceType,
    SortedBindings,
)
from doorkeeper.base.errors import answer_of
from doorkeeper.base.slices import counts, sort
from doorkeeper_wire.errors import Malformed
from doorkeeper_wire.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsMatchingAcl
from doorkeeper_wire.messages.describe_acls import AclDescription, DescribeAclsResource

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.server.authorizer.contract import AclBindingDeleteResult, AclDeleteResult
    from doorkeeper_wire.messages.delete_acls import DeleteAclsFilter
    from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest


# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_NO_TYPE, _ANY_TYPE = ResourceType.UNKNOWN, ResourceType.ANY
_NO_PATTERN_TYPE = PatternType.UNKNOWN
_ANY_PATTERN_TYPE, _MATCH = PatternType.ANY, PatternType.MATCH
_NO_OPERATION, _ANY_OPERATION = AclOperation.UNKNOWN, AclOperation.ANY
_NO_PERMISSION, _ANY_PERMISSION = AclPermissionType.UNKNOWN, AclPermissionType.ANY
_new = tuple.__new__


class UnknownElements(Malformed):
    """A request of an ACL API that contains the code 0: the connection is closed, unanswered."""

    def __init__(self, field: str, text: str) -> None:
        """``text`` is the broker's, for the log; the offset is not known here."""
        super().__init__(field, -1, text)


def check_describe(request: DescribeAclsRequest) -> None:
    """Refuse a DescribeAcls request with a code 0 in it.

    Raises:
        UnknownElements: with the broker's log text.
    """
    # Code 0 itself only: the request classes of the broker check for UNKNOWN before they convert,
    # and other unknown codes become UNKNOWN later.
    field = _unknown_of_filter(request)
    if field is not None:
        raise UnknownElements(field, f"DescribeAclsRequest contains UNKNOWN elements: {request}")


def check_filters(filters: Iterable[DeleteAclsFilter]) -> None:
    """Refuse a DeleteAcls request with a code 0 in any of its filters.

    Raises:
        UnknownElements: with the broker's log text.
    """
    for wanted in filters:
        field = _unknown_of_filter(wanted)
        if field is not None:
            raise UnknownElements(field, f"Filters contain UNKNOWN elements, filters: {wanted}")


def _unknown_of_filter(wanted: DescribeAclsRequest | DeleteAclsFilter) -> str | None:
    # UNKNOWN is 0 everywhere; nearly all filters end here.
    if (
        wanted.pattern_type_filter
        and wanted.resource_type_filter
        and wanted.operation
        and wanted.permission_type
    ):
        return None
    if wanted.pattern_type_filter == PatternType.UNKNOWN:
        return "pattern_type_filter"
    if wanted.resource_type_filter == ResourceType.UNKNOWN:
        return "resource_type_filter"
    return unknown_of_entry(wanted.operation, wanted.permission_type)


def unknown_of_entry(operation_code: int, permission_code: int) -> str | None:
    """Return which of the two fields has the code 0, or None."""
    if operation_code == AclOperation.UNKNOWN:
        return "operation"
    return "permission_type" if permission_code == AclPermissionType.UNKNOWN else None


def filter_of(wanted: DescribeAclsRequest | DeleteAclsFilter) -> AclBindingFilter:
    """Return the filter of a request, or of one row of it."""
    return AclBindingFilter(
        ResourcePatternFilter(
            RESOURCE_TYPES.get(wanted.resource_type_filter, _NO_TYPE),
            wanted.resource_name_filter,
            PATTERN_TYPES.get(wanted.pattern_type_filter, _NO_PATTERN_TYPE),
        ),
        AccessControlEntryFilter(
            wanted.principal_filter,
            wanted.host_filter,
            OPERATIONS.get(wanted.operation, _NO_OPERATION),
            PERMISSION_TYPES.get(wanted.permission_type, _NO_PERMISSION),
        ),
    )


def resource_rows(bindings: Iterable[AclBinding]) -> tuple[DescribeAclsResource, ...]:
    """Return the rows of a DescribeAcls response: a row for each pattern, with its entries.

    Both are sorted, each binding occurs once: O(n log n), and O(n) for sorted bindings.
    """
    # The authorizer marks lists that are sorted and distinct; sorting 100,000 ACLs takes long.
    if not isinstance(bindings, SortedBindings):
        bindings = sort(counts(bindings))
    # The same few principals have the same rights on many resources: their rows are made once.
    rows: dict[AccessControlEntry, AclDescription] = {}
    resources = []
    for pattern, of_pattern in groupby(bindings, key=itemgetter(0)):
        acls = []
        for _, entry in of_pattern:
            row = rows.get(entry)
            if row is None:
                row = rows[entry] = description_of(entry)
            acls.append(row)
        resources.append(
            DescribeAclsResource(
                resource_type=pattern.resource_type,
                resource_name=pattern.name,
                pattern_type=pattern.pattern_type,
                acls=tuple(acls),
            )
        )
    return tuple(resources)


def description_of(entry: AccessControlEntry) -> AclDescription:
    # The members themselves: they are integers, and their ``value`` is a slow property.
    return AclDescription(
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation,
        permission_type=entry.permission_type,
    )


def filter_result(result: AclDeleteResult) -> DeleteAclsFilterResult:
    if result.error is not None:
        code, text = answer_of(result.error)
        return DeleteAclsFilterResult(error_code=code.value, error_message=text)
    return DeleteAclsFilterResult(
        error_message=None, matching_acls=tuple(map(_matching_acl, result.bindings))
    )


def _matching_acl(result: AclBindingDeleteResult) -> DeleteAclsMatchingAcl:
    pattern, entry = result.binding
    code, text = (0, None) if result.error is None else answer_of(result.error)
    # ``int`` of the code: ErrorCode.value is a slow property, and there may be 100,000 rows.
    return DeleteAclsMatchingAcl(
        error_code=int(code),
        error_message=text,
        resource_type=pattern.resource_type,
        resource_name=pattern.name,
        pattern_type=pattern.pattern_type,
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation,
        permission_type=entry.permission_type,
    )
