"""Permission checks of handlers: the authorizer calls of a broker, with its log flags.

The generated table ``doorkeeper.server.api.operations`` has the operations that each API needs, on
which resource, and whether the authorizer log has a line for each answer. A handler takes all rows
of its API, in the order of the table:

    _ALTER, _DESCRIBE = needs(...)
    if is_allowed(node, context, _DESCRIBE, topic): ...

Without an authorizer everything is allowed.

Source: the broker's ``AuthHelper`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.acls.model import (
    CLUSTER_NAME,
    AclOperation,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acls.operations import full_mask
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.base.slices import counts, free
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.operations import REQUIRED
from doorkeeper.server.authorizer.contract import Action, AuthorizationResult
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper.server.schema.declared import StoredTopic

OPERATIONS_NOT_COMPUTED = -(2**31)
"""The mask of a resource that was not requested, or must not be disclosed."""


class Need(Struct, frozen=True):
    """One row of the table. ``refusal`` is NONE where a denial only filters the response."""

    operation: AclOperation
    resource_type: ResourceType
    log_if_allowed: bool
    log_if_denied: bool
    refusal: ErrorCode
    on_cluster: Sequence[Action] = ()
    """The question to the authorizer about the cluster, made once; only for rows of CLUSTER."""

    def action(self, name: str, references: int = 1) -> Action:
        """Return the authorizer's action; ``references`` is how often the request names it."""
        # The authorizer log shows references: a broker has one for each occurrence in the request.
        return Action(
            self.operation,
            # Always LITERAL: the authorizer itself looks for prefixes that cover the name.
            ResourcePattern(self.resource_type, name, PatternType.LITERAL),
            references,
            self.log_if_allowed,
            self.log_if_denied,
        )


def needs(api_key: int) -> tuple[Need, ...]:
    """Return the rows of an API, in the order of the table."""
    rows = (
        Need(
            AclOperation[row.operation],
            ResourceType[row.resource],
            row.log_if_allowed,
            row.log_if_denied,
            ErrorCode(row.refusal),
        )
        for row in REQUIRED[api_key]
    )
    return tuple(replace(row, on_cluster=(row.action(CLUSTER_NAME),)) for row in rows)


def is_allowed(node: Node, context: RequestContext, need: Need, name: str = CLUSTER_NAME) -> bool:
    """Return whether the caller has this permission on a resource."""
    authorizer = node.authorizer
    if authorizer is None:
        return True
    answer = authorizer.authorize(context.authorizable, [need.action(name)])[0]
    return answer is AuthorizationResult.ALLOWED


def allowed_names(
    node: Node, context: RequestContext, need: Need, names: Iterable[str]
) -> frozenset[str]:
    """Return the names on which the caller has this permission.

    Each distinct name is one action of a single call, in order, with the number of times that it
    occurs.
    """
    authorizer = node.authorizer
    if authorizer is None:
        return frozenset(name for name in names)
    asked = counts(names)
    if not asked:
        return frozenset()
    actions = [need.action(name, count) for name, count in asked.items()]
    answers = authorizer.authorize(context.authorizable, actions)
    allowed = frozenset(
        name
        for name, answer in zip(asked, answers, strict=True)
        if answer is AuthorizationResult.ALLOWED
    )
    free(actions)
    return allowed


def named_topics(
    node: Node, asked: Iterable[Any], *, by_id: bool
) -> list[tuple[Any, str | None, StoredTopic | None]]:
    """Return each row with the name of its topic, and the topic if it exists.

    Rows have names, or ids (``by_id``): for an unknown id both are None.
    """
    if by_id:
        found = ((row, node.topics.by_id(row.topic_id)) for row in asked)
        return [(row, None if topic is None else topic.name, topic) for row, topic in found]
    return [(row, row.name, node.topics.get(row.name)) for row in asked]


def is_allowed_on_any(node: Node, context: RequestContext, need: Need) -> bool:
    """Return whether the caller has this permission on any resource of its type (KIP-679)."""
    authorizer = node.authorizer
    if authorizer is None:
        return True
    answer = authorizer.authorize_by_resource_type(
        context.authorizable, need.operation, need.resource_type
    )
    return answer is AuthorizationResult.ALLOWED


def authorized_operations(
    node: Node, context: RequestContext, resource_type: ResourceType, names: Iterable[str]
) -> dict[str, int]:
    """Return a mask for each name: a bit for each operation that is allowed.

    All names are checked in one call; a name given twice is checked twice, as by a broker. Implied
    operations count: an ALLOW of DELETE sets DESCRIBE too.
    """
    authorizer = node.authorizer
    asked = list(names)
    if authorizer is None:
        return {name: full_mask(resource_type) for name in asked}
    if not asked:
        return {}
    resources = [ResourcePattern(resource_type, name, PatternType.LITERAL) for name in asked]
    # Not logged as denials: these are questions, no accesses.
    masks = authorizer.authorized_operations(context.authorizable, resources)
    return {name: mask for name, mask in zip(asked, masks, strict=True)}  # noqa: C416


def cluster_operations(node: Node, context: RequestContext, need: Need) -> int:
    """Return the mask of the cluster: 0 for a caller that may not describe it."""
    if is_allowed(node, context, need):
        names = (CLUSTER_NAME,)
        return authorized_operations(node, context, ResourceType.CLUSTER, names)[CLUSTER_NAME]
    return 0


def require_on_cluster(node: Node, context: RequestContext, need: Need) -> None:
    """Refuse a caller without this permission on the cluster.

    Raises:
        ApiError: the need's code, with the broker's text.
    """
    authorizer = node.authorizer
    if authorizer is None:
        return
    answer = authorizer.authorize(context.authorizable, need.on_cluster)[0]
    if answer is not AuthorizationResult.ALLOWED:
        raise ApiError(
            need.refusal,
            f"Request {context.description} needs {need.operation.name} permission.",
        )
