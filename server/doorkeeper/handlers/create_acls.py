"""CreateAcls (30), versions 0-3: adds ACLs; each row is answered alone, in order.

Needs ALTER on the cluster.

    v0  knows LITERAL patterns only
    v1  the pattern type (KIP-290)
    v2  flexible
    v3  the resource type USER; nothing refuses it in older versions

In this order: code 0 in any row closes the connection; a caller without the permission gets 31 in
every row; without an authorizer every row gets 54; ANY or MATCH in any row is -1 in every row and
nothing is created; a name other than ``kafka-cluster`` for the cluster, or an empty name, refuses
its own row. All other checks, and the limit on how many, are the authorizer's. An ACL that exists
already, or occurs twice in the request, is success.

Success carries an empty text, not null: the broker leaves the field at its default.

Source: the broker's ``AclApis.handleCreateAcls`` (4.3.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.acl.model import CLUSTER_NAME, AclBinding, ResourceType
from doorkeeper.api import Api
from doorkeeper.codes import binding_of, check_creations
from doorkeeper.errors import ApiError, ErrorCode, answer_of
from doorkeeper.node import CreateAcls
from doorkeeper.permissions import needs, require_on_cluster
from doorkeeper_wire.messages.create_acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.authorizer.contract import AclCreateResult
    from doorkeeper.node import Node, RequestContext

(_ALTER,) = needs(30)

# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_CLUSTER = ResourceType.CLUSTER
_CREATED = AclCreationResult(error_message="")


def handle(request: CreateAclsRequest, context: RequestContext, node: Node) -> CreateAcls:
    """Hand the rows that may be created to the authorizer."""
    check_creations(request.creations)
    require_on_cluster(node, context, _ALTER)
    if node.authorizer is None:
        raise ApiError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
    bindings = [binding_of(creation) for creation in request.creations]
    refusals = [_refusal_of(binding) for binding in bindings]
    accepted = tuple(
        binding for binding, refusal in zip(bindings, refusals, strict=True) if refusal is None
    )

    def finish(results: Sequence[AclCreateResult]) -> CreateAclsResponse:
        answers = iter(results)
        errors = [next(answers).error if refusal is None else refusal for refusal in refusals]
        return CreateAclsResponse(results=tuple(map(_row, errors)))

    return CreateAcls(bindings=accepted, finish=finish)


def _refusal_of(binding: AclBinding) -> ApiError | None:
    pattern = binding.pattern
    if pattern.resource_type is _CLUSTER and pattern.name != CLUSTER_NAME:
        text = f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
        return ApiError(ErrorCode.INVALID_REQUEST, text)
    if not pattern.name:
        return ApiError(ErrorCode.INVALID_REQUEST, "Invalid empty resource name")
    return None


def _row(error: BaseException | None) -> AclCreationResult:
    if error is None:
        return _CREATED
    code, text = answer_of(error)
    return AclCreationResult(error_code=code.value, error_message=text)


def refuse(
    request: CreateAclsRequest,
    version: int,  # noqa: ARG001  the form of Api.refuse
    error: BaseException,
) -> CreateAclsResponse:
    """Answer the same error in every row: the answer has no place for an error of its own."""
    return CreateAclsResponse(results=(_row(error),) * len(request.creations))


API = Api(
    key=30,
    name="CreateAcls",
    min_version=0,
    max_version=3,
    request=CreateAclsRequest,
    handle=handle,
    refuse=refuse,
    on_controller=True,
)
