"""ApiVersions (18), versions 0-5: the APIs and versions that this listener serves.

Needs no permission, and is answered before authentication too.

    v0-2  a request without fields
    v3    the client's software name and version, which must match a pattern (else 42); the response
          has the features of the server
    v4    features whose lowest level is 0 are listed too (KAFKA-17011): transaction.version, with
          the test broker
    v5    the cluster and the node that the client expects (KIP-1242): both or neither (else 42); if
          one differs, the answer is 129 REBOOTSTRAP_REQUIRED, on listeners for brokers only

Later versions are answered in the layout of version 0, with error 35 and the range of this API
alone; the client retries with a version that is served. A broker before 2.4 lists nothing in that
answer, and so does a server with its versions (``doorkeeper.test.api.versions``).

Source: KIP-35, KIP-511, KIP-584, KIP-1242; ``handleApiVersionsRequest`` of the broker 4.4.0.
"""

from __future__ import annotations

import re

from doorkeeper.base.errors import ApiError, ErrorCode, answer_of
from doorkeeper.server.api.declaration import declare
from doorkeeper.server.api.node import Node
from doorkeeper.server.config.kafka_versions import TEST_API_VERSIONS
from doorkeeper.server.config.keys import TEST_BROKER
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper.server.schema.features import (
    LOWEST_LEVEL,
    METADATA_VERSION,
    TRANSACTION_LEVEL,
    TRANSACTION_VERSION,
    metadata_level,
)
from doorkeeper_wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

_SOFTWARE_TEXT = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")

_LOWEST_ZERO_FROM = 4

NAMES_SOFTWARE_FROM = 3
"""The version with which a broker began to list its range beside error 35 (KIP-511)."""

FEATURES_EPOCH = 0
"""Features change only while no node runs; a negative epoch would mean that they are unknown."""

Feature = tuple[str, int, int]
"""The name of a feature, its lowest level, and its present one, which is the highest."""


def handle(request: ApiVersionsRequest, context: RequestContext, node: Node) -> ApiVersionsResponse:
    version = context.authorizable.request_version
    if not ApiVersionsRequest.MIN_VERSION <= version <= ApiVersionsRequest.MAX_VERSION:
        return refuse(request, version, ApiError(ErrorCode.UNSUPPORTED_VERSION))
    if not is_valid(request, version):
        return refuse(request, version, ApiError(ErrorCode.INVALID_REQUEST))
    # A broker checks it, a controller does not.
    if not context.controller_listener and _is_misrouted(request, node):
        return refuse(request, version, ApiError(ErrorCode.REBOOTSTRAP_REQUIRED))
    features = _features(node)
    return ApiVersionsResponse(
        api_keys=tuple(node.api_ranges(controller=context.controller_listener)),
        supported_features=tuple(
            SupportedFeatureKey(name=name, min_version=lowest, max_version=highest)
            for name, lowest, highest in features
            if lowest or version >= _LOWEST_ZERO_FROM
        ),
        finalized_features_epoch=FEATURES_EPOCH,
        finalized_features=tuple(
            FinalizedFeatureKey(name=name, max_version_level=highest, min_version_level=highest)
            for name, _, highest in features
        ),
    )


def _features(node: Node) -> list[Feature]:
    # Clients derive the release of the cluster from the level: kafka-ui needs it to show its ACL
    # editor.
    features = [(METADATA_VERSION, LOWEST_LEVEL, metadata_level(node.state.features))]
    if node.settings[TEST_BROKER]:
        features.append((TRANSACTION_VERSION, 0, TRANSACTION_LEVEL))
    cap = node.settings[TEST_API_VERSIONS]
    capped = ((name, cap.feature(name, low, high)) for name, low, high in features)
    return [(name, *levels) for name, levels in capped if levels is not None]


def is_valid(request: ApiVersionsRequest, version: int) -> bool:
    """Return whether what the client says of itself is well-formed; else it is not recorded."""
    # KIP-1242: a client sends both or neither.
    if version >= 5 and (request.cluster_id is None) != (request.node_id == -1):
        return False
    return version < 3 or (
        _SOFTWARE_TEXT.fullmatch(request.client_software_name) is not None
        and _SOFTWARE_TEXT.fullmatch(request.client_software_version) is not None
    )


def _is_misrouted(request: ApiVersionsRequest, node: Node) -> bool:
    return request.cluster_id is not None and (
        request.cluster_id != node.cluster_id or request.node_id != node.node_id
    )


def refuse(
    request: ApiVersionsRequest,
    version: int,
    error: BaseException,
    *,
    max_version: int = ApiVersionsRequest.MAX_VERSION,
) -> ApiVersionsResponse:
    """Answer an error; for an unknown version, with the range that is served."""
    code, _ = answer_of(error)
    if code is not ErrorCode.UNSUPPORTED_VERSION or max_version < NAMES_SOFTWARE_FROM:
        return ApiVersionsResponse(error_code=code.value)
    # KIP-511: the client reads the highest version from this row and asks again.
    own = ApiVersion(
        api_key=ApiVersionsRequest.API_KEY,
        min_version=ApiVersionsRequest.MIN_VERSION,
        max_version=max_version,
    )
    return ApiVersionsResponse(error_code=code.value, api_keys=(own,))


API = declare(ApiVersionsRequest, handle, refuse, on_controller=True, in_thread=False)
