"""A few APIs for tests of the server's edge, and as much of a node as they ask for.

They answer from their requests alone, so that what a test sees is the edge's doing:

    ApiVersions, SaslHandshake, SaslAuthenticate    the real ones
    DescribeAcls    echoes the name asked for; ``fail`` raises, ``senseless`` is refused,
                    ``long:N`` answers N rows of 10 kB, ``pieces:N`` N rows made in pieces
    CreateAcls      one binding for each creation, to the authorizer
    DeleteTopics    the names, to the services
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from doorkeeper.acls.bulk import load
from doorkeeper.acls.model import (
    ANY_BINDING,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.base.errors import ApiError, ErrorCode, answer_of
from doorkeeper.server.api import api_versions, sasl_authenticate, sasl_handshake
from doorkeeper.server.api.acl_rows import AclRows, Description
from doorkeeper.server.api.declaration import Api
from doorkeeper.server.api.node import (
    AuthorizerReads,
    Node,
    Outcome,
    Response,
    Services,
    Update,
    UpdateOperation,
)
from doorkeeper.server.api.registry import ApiTable
from doorkeeper.server.authorizer.result_checks import CREATION
from doorkeeper.server.state.state import EMPTY
from doorkeeper_wire.errors import Malformed
from doorkeeper_wire.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from doorkeeper_wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from doorkeeper_wire.messages.describe_acls import (
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from testkit.acl import READ, allow, topic
from testkit.settings import settings_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from doorkeeper.server.authorizer.contract import AclCreateResult
    from doorkeeper.server.runtime.request_context import RequestContext
    from doorkeeper.server.state.outcome import Results
    from doorkeeper_wire.messages.api_versions import ApiVersion


def _describe(request: DescribeAclsRequest, context: RequestContext, node: Node) -> Outcome:
    name = request.resource_name_filter or ""
    if name == "fail":
        raise RuntimeError("the handler fails")
    if name == "senseless":
        raise Malformed("name", 7, "says nothing")
    if name == "description":
        name = context.description
    if name == "principal":
        name = f"{context.authorizable.principal}@{context.authorizable.client_address}"
    if name.startswith("long:"):
        return long_answer(int(name.removeprefix("long:")))
    if name.startswith("pieces:"):
        return long_description(int(name.removeprefix("pieces:")))
    return DescribeAclsResponse(error_message=name)


def long_answer(rows: int) -> DescribeAclsResponse:
    """Return an answer with so many rows of 10,000 bytes and a few."""
    return DescribeAclsResponse(
        resources=(DescribeAclsResource(resource_name="x" * 10_000),) * rows
    )


def long_description(topics: int) -> Description:
    """Return an answer that is made in pieces: an ACL on each of some topics."""
    snapshot = load((f"{each:022}", allow("a", READ, topic(f"t-{each}"))) for each in range(topics))
    return Description(AclRows(lambda: snapshot), snapshot, ANY_BINDING)


def _refuse_describe(request: Any, version: int, error: BaseException) -> Response:
    code, text = answer_of(error)
    return DescribeAclsResponse(error_code=code, error_message=text)


def _create(request: CreateAclsRequest, context: RequestContext, node: Node) -> Outcome:
    bindings = tuple(map(binding, request.creations))

    async def apply(services: Services) -> Results:
        authorizer = services.authorizer
        if authorizer is None:
            raise ApiError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
        return await authorizer.change(
            CREATION, context.authorizable, bindings, services.update_timeout_s
        )

    return Update(UpdateOperation.ACLS, apply, _respond_created, len(bindings))


def _respond_created(results: Results) -> Response:
    return CreateAclsResponse(results=tuple(map(_created, results.values)))


def _created(result: AclCreateResult) -> AclCreationResult:
    code, text = answer_of(result.error) if result.error else (0, None)
    return AclCreationResult(error_code=code, error_message=text)


def _refuse_create(request: Any, version: int, error: BaseException) -> Response:
    code, text = answer_of(error)
    row = AclCreationResult(error_code=code, error_message=text)
    return CreateAclsResponse(results=(row,) * len(request.creations))


def _delete_topics(request: DeleteTopicsRequest, context: RequestContext, node: Node) -> Outcome:
    names = request.topic_names

    async def apply(services: Any) -> Any:
        return await services.delete_topics(names)

    def respond(results: Sequence[ApiError | None] | None) -> Response:
        return DeleteTopicsResponse(
            responses=tuple(
                DeletableTopicResult(name=name, error_code=error.code if error else 0)
                for name, error in zip(names, results or (), strict=False)
            )
        )

    return Update(UpdateOperation.TOPICS, apply, respond, wait=request.timeout_ms != 0)


def _refuse_delete_topics(request: Any, version: int, error: BaseException) -> Response:
    code, _ = answer_of(error)
    return DeleteTopicsResponse(
        responses=tuple(
            DeletableTopicResult(name=name, error_code=code) for name in request.topic_names
        )
    )


def binding(creation: AclCreation) -> AclBinding:
    """Return the binding of a creation."""
    return AclBinding(
        ResourcePattern(ResourceType.TOPIC, creation.resource_name, PatternType.LITERAL),
        AccessControlEntry("User:x", "*", AclOperation.READ, AclPermissionType.ALLOW),
    )


APIS = ApiTable(
    (
        api_versions.API,
        sasl_handshake.API,
        sasl_authenticate.API,
        Api(29, "DescribeAcls", 1, 3, DescribeAclsRequest, _describe, _refuse_describe, True, True),
        Api(30, "CreateAcls", 1, 3, CreateAclsRequest, _create, _refuse_create),
        Api(
            20,
            "DeleteTopics",
            1,
            6,
            DeleteTopicsRequest,
            _delete_topics,
            _refuse_delete_topics,
        ),
    )
)


_settings_of = cache(settings_of)


class EdgeNode:
    """As much of a node as ApiVersions, refusals and connections ask for."""

    node_id = 1
    authorizer = None
    state = EMPTY
    cluster_id = "4L6g3nShT-eMCtK--X86sw"

    def __init__(self, properties: str = "") -> None:
        self.settings = _settings_of(properties)

    def at_one_state(
        self,
        authorizer: AuthorizerReads | None,
        on_loop: Callable[[object], Any],
    ) -> EdgeNode:
        """Return the node: it does not change."""
        return self

    def api_ranges(self, *, controller: bool) -> Sequence[ApiVersion]:
        """Return the ranges of ``APIS``."""
        return APIS.ranges(controller=False)
