"""CreateAcls (30), versions 0-3: adds ACLs; each row is answered alone, in order.

Needs ALTER on the cluster.

    v0  knows LITERAL patterns only
    v1  the pattern type (KIP-290)
    v2  flexible
    v3  the resource type USER; nothing refuses it in older versions

In this order: code 0 in any row closes the connection; a caller without the permission gets 31 in
every row; without an authorizer every row gets 54; ANY or MATCH in any row is -1 in every row and
nothing is created; a name other than ``kafka-cluster`` for the cluster, an empty name, or a text
that no answer could carry, refuses its own row. All other checks, and the limit on how many, are
the authorizer's. An ACL that exists already, or occurs twice in the request, is success.

Success carries an empty text, not null: the broker leaves the field at its default.

Source: the broker's ``AclApis.handleCreateAcls`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from doorkeeper.acls.model import (
    CLUSTER_NAME,
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSION_TYPES,
    RESOURCE_TYPES,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acls.validation import unencodable
from doorkeeper.base.errors import ApiError, ErrorCode, row_of
from doorkeeper.server.api.codes import UnknownElements
from doorkeeper.server.api.declaration import declare
from doorkeeper.server.api.node import Node, Update, UpdateOperation, change_acls
from doorkeeper.server.api.permissions import needs, require_on_cluster
from doorkeeper.server.authorizer.result_checks import CREATION
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper.server.state.outcome import Results
from doorkeeper_wire.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)

(_ALTER,) = needs(CreateAclsRequest.API_KEY)

# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_CLUSTER, _NO_TYPE, _ANY_TYPE = ResourceType.CLUSTER, ResourceType.UNKNOWN, ResourceType.ANY
_NO_PATTERN_TYPE = PatternType.UNKNOWN
_ANY_PATTERN_TYPE, _MATCH = PatternType.ANY, PatternType.MATCH
_NO_OPERATION, _ANY_OPERATION = AclOperation.UNKNOWN, AclOperation.ANY
_NO_PERMISSION, _ANY_PERMISSION = AclPermissionType.UNKNOWN, AclPermissionType.ANY
_new = tuple.__new__
_CREATED = AclCreationResult(error_message="")


def handle(request: CreateAclsRequest, context: RequestContext, node: Node) -> Update:
    for creation in request.creations:
        # UNKNOWN is 0 everywhere.
        if not (
            creation.resource_pattern_type
            and creation.resource_type
            and creation.operation
            and creation.permission_type
        ):
            raise UnknownElements(creation, "CreatableAcls contain unknown elements: ")
    # Before the check for an authorizer: without one every caller is allowed, and gets 54.
    require_on_cluster(node, context, _ALTER)
    if node.authorizer is None:
        raise ApiError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
    bindings = list(map(binding_of, request.creations))
    refusals = list(map(_refusal_of, bindings))
    # Rows that pass are created although others are refused.
    if any(refusals):
        pairs = zip(bindings, refusals, strict=True)
        bindings = [binding for binding, refusal in pairs if refusal is None]
    apply = partial(change_acls, CREATION, context.authorizable, bindings)
    return Update(UpdateOperation.ACLS, apply, partial(_respond, refusals), len(bindings))


def binding_of(creation: AclCreation) -> AclBinding:
    """Return the ACL of a row of CreateAcls; unknown codes become UNKNOWN.

    Raises:
        ApiError: UNKNOWN_SERVER_ERROR where an element is ANY or MATCH, which only filters may
            have: a broker fails while it constructs the object.
    """
    # One request may bring ten thousand: the values are made by ``tuple.__new__``, since a named
    # tuple's own constructor is a Python function.
    kind = RESOURCE_TYPES.get(creation.resource_type, _NO_TYPE)
    pattern_kind = PATTERN_TYPES.get(creation.resource_pattern_type, _NO_PATTERN_TYPE)
    asked = OPERATIONS.get(creation.operation, _NO_OPERATION)
    permission = PERMISSION_TYPES.get(creation.permission_type, _NO_PERMISSION)
    if (
        kind is _ANY_TYPE
        or pattern_kind is _ANY_PATTERN_TYPE
        or pattern_kind is _MATCH
        or asked is _ANY_OPERATION
        or permission is _ANY_PERMISSION
    ):
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "found ANY or MATCH in an ACL to create")
    pattern = _new(ResourcePattern, (kind, creation.resource_name, pattern_kind))
    entry = _new(AccessControlEntry, (creation.principal, creation.host, asked, permission))
    return _new(AclBinding, (pattern, entry))


def _respond(refusals: Sequence[ApiError | None], results: Results) -> CreateAclsResponse:
    # The authorizer's results cover only the rows that passed, in their order.
    created = iter(results.values)
    rows = []
    for refusal in refusals:
        error = next(created).error if refusal is None else refusal
        rows.append(_CREATED if error is None else row_of(AclCreationResult, error))
    return CreateAclsResponse(results=tuple(rows))


def _refusal_of(binding: AclBinding) -> ApiError | None:
    pattern = binding.pattern
    # These checks apply with every authorizer; the first two are the broker's own.
    if pattern.resource_type is _CLUSTER and pattern.name != CLUSTER_NAME:
        text = f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
        return ApiError(ErrorCode.INVALID_REQUEST, text)
    if not pattern.name:
        return ApiError(ErrorCode.INVALID_REQUEST, "Invalid empty resource name")
    return unencodable(binding)


def refuse(request: CreateAclsRequest, version: int, error: BaseException) -> CreateAclsResponse:
    """Answer the same error in every row: the response has no error of its own."""
    return CreateAclsResponse(results=(row_of(AclCreationResult, error),) * len(request.creations))


API = declare(CreateAclsRequest, handle, refuse, on_controller=True)
