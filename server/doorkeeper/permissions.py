"""What handlers ask the authorizer: the questions of a broker's handlers, with its audit flags.

Where no authorizer is configured everything is allowed.

Source: the broker's ``AuthHelper`` (4.3.1).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from doorkeeper.acl.model import (
    CLUSTER_NAME,
    AclOperation,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acl.operations import SUPPORTED_OPERATIONS, full_mask
from doorkeeper.authorizer.contract import Action, AuthorizationResult
from doorkeeper.errors import ApiError, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.node import Node, RequestContext

OPERATIONS_NOT_COMPUTED = -(2**31)
"""The mask of a resource that was not asked about, or whose existence is not disclosed."""


def is_allowed(
    node: Node,
    context: RequestContext,
    operation: AclOperation,
    resource_type: ResourceType,
    name: str = CLUSTER_NAME,
    *,
    log_if_denied: bool = True,
) -> bool:
    """Say whether the caller may do this to one resource."""
    authorizer = node.authorizer
    if authorizer is None:
        return True
    action = Action(
        operation,
        ResourcePattern(resource_type, name, PatternType.LITERAL),
        log_if_denied=log_if_denied,
    )
    answer = authorizer.authorize(context.authorizable, [action])[0]
    return answer is AuthorizationResult.ALLOWED


def allowed_names(
    node: Node,
    context: RequestContext,
    operation: AclOperation,
    resource_type: ResourceType,
    names: Iterable[str],
    *,
    log_if_denied: bool = True,
) -> frozenset[str]:
    """Return the names on which the caller may do this.

    Each distinct name is asked once, all of them in one call, in their order, and with the number
    of times that it occurs.
    """
    authorizer = node.authorizer
    if authorizer is None:
        return frozenset(names)
    counts = Counter(names)
    if not counts:
        return frozenset()
    actions = [
        Action(
            operation,
            ResourcePattern(resource_type, name, PatternType.LITERAL),
            resource_reference_count=count,
            log_if_denied=log_if_denied,
        )
        for name, count in counts.items()
    ]
    answers = authorizer.authorize(context.authorizable, actions)
    return frozenset(
        name
        for name, answer in zip(counts, answers, strict=True)
        if answer is AuthorizationResult.ALLOWED
    )


def authorized_operations(
    node: Node, context: RequestContext, resource_type: ResourceType, name: str = CLUSTER_NAME
) -> int:
    """Return a bit for each operation that the caller may do on a resource; a probe, no access.

    Implied operations count: an ALLOW of DELETE sets DESCRIBE too.
    """
    authorizer = node.authorizer
    if authorizer is None:
        return full_mask(resource_type)
    supported = SUPPORTED_OPERATIONS[resource_type]
    pattern = ResourcePattern(resource_type, name, PatternType.LITERAL)
    probes = [
        Action(operation, pattern, log_if_allowed=False, log_if_denied=False)
        for operation in supported
    ]
    answers = authorizer.authorize(context.authorizable, probes)
    return sum(
        1 << operation
        for operation, answer in zip(supported, answers, strict=True)
        if answer is AuthorizationResult.ALLOWED
    )


def cluster_operations(node: Node, context: RequestContext) -> int:
    """Return the mask of the cluster: 0 for a caller that may not describe it."""
    if is_allowed(node, context, AclOperation.DESCRIBE, ResourceType.CLUSTER):
        return authorized_operations(node, context, ResourceType.CLUSTER)
    return 0


def require_on_cluster(node: Node, context: RequestContext, operation: AclOperation) -> None:
    """Refuse a caller that may not do this to the cluster.

    Raises:
        ApiError: CLUSTER_AUTHORIZATION_FAILED, with the broker's text.

    """
    if not is_allowed(node, context, operation, ResourceType.CLUSTER):
        raise ApiError(
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
            f"Request {context.description} needs {operation.name} permission.",
        )
