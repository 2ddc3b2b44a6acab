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

from doorkeeper.acls.model import (
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSION_TYPES,
    RESOURCE_TYPES,
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
from doorkeeper.base.errors import answer_of, row_of
from doorkeeper.base.slices import counts, sort
from doorkeeper_wire.errors import Malformed
from doorkeeper_wire.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsMatchingAcl
from doorkeeper_wire.messages.describe_acls import AclDescription, DescribeAclsResource

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.server.authorizer.contract import AclBindingDeleteResult, AclDeleteResult
    from doorkeeper_wire.messages.create_acls import AclCreation
    from doorkeeper_wire.messages.delete_acls import DeleteAclsFilter
    from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest


# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_NO_TYPE = ResourceType.UNKNOWN
_NO_PATTERN_TYPE = PatternType.UNKNOWN
_NO_OPERATION = AclOperation.UNKNOWN
_NO_PERMISSION = AclPermissionType.UNKNOWN

_CODES = (
    "pattern_type_filter",
    "resource_pattern_type",
    "resource_type_filter",
    "resource_type",
    "operation",
    "permission_type",
)
"""Fields with codes, in the order in which a broker looks at them."""


class UnknownElements(Malformed):
    """A request of an ACL API that contains the code 0: the connection is closed, unanswered.

    The code 0 itself only: the request classes of the broker look for it before they convert, and
    other unknown codes become UNKNOWN later.
    """

    def __init__(
        self, item: DescribeAclsRequest | DeleteAclsFilter | AclCreation, text: str
    ) -> None:
        """``text`` is what a broker logs before the item; the offset is not known here."""
        field = next(name for name in _CODES if getattr(item, name, None) == 0)
        super().__init__(field, -1, f"{text}{item}")


def filter_of(message: DescribeAclsRequest | DeleteAclsFilter) -> AclBindingFilter:
    """Return the filter of a request, or of one row of it."""
    return AclBindingFilter(
        ResourcePatternFilter(
            RESOURCE_TYPES.get(message.resource_type_filter, _NO_TYPE),
            message.resource_name_filter,
            PATTERN_TYPES.get(message.pattern_type_filter, _NO_PATTERN_TYPE),
        ),
        AccessControlEntryFilter(
            message.principal_filter,
            message.host_filter,
            OPERATIONS.get(message.operation, _NO_OPERATION),
            PERMISSION_TYPES.get(message.permission_type, _NO_PERMISSION),
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
        return row_of(DeleteAclsFilterResult, result.error)
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
