"""ACLs on their way to a server and back, and those that a client does not send.

Source: ``KafkaAdminClient`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from doorkeeper.acl.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acl.validation import unencodable
from doorkeeper.api.codes import operation, pattern_type, permission_type, resource_type
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper_wire.messages.create_acls import AclCreation, CreateAclsRequest
from doorkeeper_wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.acl.model import AclBindingFilter
    from doorkeeper_wire.messages.delete_acls import DeleteAclsMatchingAcl
    from doorkeeper_wire.messages.describe_acls import (
        AclDescription,
        DescribeAclsResource,
        DescribeAclsResponse,
    )

Filter = TypeVar("Filter", DescribeAclsRequest, DeleteAclsFilter)


def describing(wanted: AclBindingFilter) -> DescribeAclsRequest:
    """Return the request for what a filter matches."""
    return _asking(DescribeAclsRequest, wanted)


def creating(bindings: Iterable[AclBinding]) -> CreateAclsRequest:
    """Return the request that creates bindings."""
    return CreateAclsRequest(
        creations=tuple(
            AclCreation(
                resource_type=pattern.resource_type,
                resource_name=pattern.name,
                resource_pattern_type=pattern.pattern_type,
                principal=entry.principal,
                host=entry.host,
                operation=entry.operation,
                permission_type=entry.permission_type,
            )
            for pattern, entry in bindings
        )
    )


def deleting(filters: Iterable[AclBindingFilter]) -> DeleteAclsRequest:
    """Return the request that deletes what filters match."""
    return DeleteAclsRequest(filters=tuple(_asking(DeleteAclsFilter, each) for each in filters))


def _asking(message: type[Filter], wanted: AclBindingFilter) -> Filter:
    """Return a filter as a message has it: both name their fields alike."""
    pattern, entry = wanted
    return message(
        resource_type_filter=pattern.resource_type,
        resource_name_filter=pattern.name,
        pattern_type_filter=pattern.pattern_type,
        principal_filter=entry.principal,
        host_filter=entry.host,
        operation=entry.operation,
        permission_type=entry.permission_type,
    )


def described(answer: DescribeAclsResponse) -> list[AclBinding]:
    """Return the bindings of an answer, in its order; codes that nobody here knows are UNKNOWN."""
    found = []
    for row in answer.resources:
        pattern = _pattern_of(row)
        found += [AclBinding(pattern, _entry_of(acl)) for acl in row.acls]
    return found


def deleted(row: DeleteAclsMatchingAcl) -> AclBinding:
    """Return the binding that a filter has matched."""
    return AclBinding(_pattern_of(row), _entry_of(row))


def _pattern_of(row: DescribeAclsResource | DeleteAclsMatchingAcl) -> ResourcePattern:
    return ResourcePattern(
        resource_type(row.resource_type), row.resource_name, pattern_type(row.pattern_type)
    )


def _entry_of(row: AclDescription | DeleteAclsMatchingAcl) -> AccessControlEntry:
    return AccessControlEntry(
        row.principal, row.host, operation(row.operation), permission_type(row.permission_type)
    )


def check_filter(wanted: AclBindingFilter) -> None:
    """Refuse a filter for which a server closes the connection.

    Raises:
        ValueError: there is an UNKNOWN in it.

    """
    pattern, entry = wanted
    if (
        pattern.resource_type is ResourceType.UNKNOWN
        or pattern.pattern_type is PatternType.UNKNOWN
        or entry.operation is AclOperation.UNKNOWN
        or entry.permission_type is AclPermissionType.UNKNOWN
    ):
        raise ValueError("The AclBindingFilter must not contain UNKNOWN elements.")


def refusal(binding: AclBinding) -> ApiError | None:
    """Return what Kafka's client says of a binding that only a filter may be; None for a good one.

    What no request can carry is refused as a server of ours does it.

    Source: ``AclBindingFilter.findIndefiniteField``.
    """
    pattern, entry = binding
    found = None
    if pattern.resource_type in (ResourceType.ANY, ResourceType.UNKNOWN):
        found = f"Resource type is {pattern.resource_type.name}"
    elif pattern.pattern_type in (PatternType.ANY, PatternType.MATCH, PatternType.UNKNOWN):
        found = f"Resource pattern type is {pattern.pattern_type.name}"
    elif entry.operation in (AclOperation.ANY, AclOperation.UNKNOWN):
        found = f"Operation is {entry.operation.name}"
    elif entry.permission_type in (AclPermissionType.ANY, AclPermissionType.UNKNOWN):
        found = f"Permission type is {entry.permission_type.name}"
    if found is None:
        return unencodable(binding)
    return ApiError(ErrorCode.INVALID_REQUEST, f"Invalid ACL creation: {found}")
