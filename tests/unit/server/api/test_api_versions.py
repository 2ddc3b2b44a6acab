"""ApiVersions, SaslHandshake and SaslAuthenticate."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.server.api import api_versions, registry, sasl_authenticate, sasl_handshake
from doorkeeper.server.schema.features import release_change
from doorkeeper.server.state.state import apply_at_once
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest
from doorkeeper_wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from testkit.nodes import CLUSTER_ID, answer, context_of, node_of, on_the_wire

NAMED: dict[str, Any] = {
    "client_software_name": "kafka-python",
    "client_software_version": "3.0.12",
}


@pytest.mark.parametrize("controller", [False, True])
async def test_api_versions_lists_the_registry(controller: Any) -> None:
    node = await node_of()

    answered = answer(api_versions.API, ApiVersionsRequest(), node, 2, controller=controller)

    listed = [(row.api_key, row.min_version, row.max_version) for row in answered.api_keys]
    assert listed == [
        (each.key, each.min_version, each.max_version)
        for each in registry.APIS.values()
        if each.on_controller or not controller
    ]
    assert ((3, 0, 13) in listed) is not controller, "a controller has no Metadata"


@pytest.mark.parametrize(("release", "level"), [(None, 30), ("4.3", 30), ("4.4", 33)])
async def test_features_are_included_from_version_3(release: str | None, level: int) -> None:
    node = await node_of()
    if release is not None:
        node.state = apply_at_once(node.state, release_change(release))

    answered = answer(api_versions.API, ApiVersionsRequest(**NAMED), node, 3)

    (supported,) = answered.supported_features
    (finalized,) = answered.finalized_features
    assert (supported.name, supported.min_version, supported.max_version) == (
        "metadata.version",
        7,
        level,
    )
    assert (finalized.name, finalized.min_version_level, finalized.max_version_level) == (
        "metadata.version",
        level,
        level,
    )
    assert answered.finalized_features_epoch >= 0


@pytest.mark.parametrize("text", ["", " x", "x ", "-x", "x-", ".x", "a b", "x\n", "ä"])
@pytest.mark.parametrize("field", NAMED)
async def test_invalid_software_name_is_rejected(field: str, text: str) -> None:
    """A name or version of another form is 42 with nothing listed, in the request's version."""
    node = await node_of()

    answered = answer(api_versions.API, ApiVersionsRequest(**{**NAMED, field: text}), node, 4)

    assert (answered.error_code, answered.api_keys) == (42, ())


@pytest.mark.parametrize(
    ("cluster_id", "node_id", "code"),
    [
        (None, -1, 0),
        (CLUSTER_ID, 1, 0),
        (CLUSTER_ID, 2, 129),
        ("another-cluster-000000", 1, 129),
        ("", 1, 129),
        (CLUSTER_ID, -1, 42),
        (None, 1, 42),
    ],
)
async def test_misrouted_client_is_rejected(
    cluster_id: str | None, node_id: int, code: int
) -> None:
    """From v5 on another cluster or node is 129; one of the two alone is 42 (KIP-1242)."""
    node = await node_of()
    request = ApiVersionsRequest(**NAMED, cluster_id=cluster_id, node_id=node_id)

    answered = answer(api_versions.API, request, node, 5)

    assert answered.error_code == code
    assert bool(answered.api_keys) == (code == 0)


@pytest.mark.parametrize("version", [-1, 6, 99])
async def test_unsupported_version_returns_the_supported_range(version: int) -> None:
    """35, and the range of ApiVersions alone."""
    node = await node_of()

    answered = api_versions.API.handle(
        ApiVersionsRequest(), context_of(api_versions.API, version), node
    )

    (row,) = on_the_wire(answered, 0).api_keys
    assert (row.api_key, row.min_version, row.max_version) == (18, 0, 5)
    assert on_the_wire(answered, 0).error_code == 35


@pytest.mark.parametrize("version", [0, 1])
async def test_sasl_requests_after_login_are_rejected(version: int) -> None:
    """34, without mechanisms and with the broker's text, whoever asks."""
    node = await node_of()
    handshake, token = SaslHandshakeRequest(mechanism="PLAIN"), SaslAuthenticateRequest()

    shaken = answer(sasl_handshake.API, handshake, node, version, user="nobody")
    authenticated = answer(sasl_authenticate.API, token, node, version, user="nobody")

    assert shaken == SaslHandshakeResponse(error_code=34)
    assert authenticated == SaslAuthenticateResponse(
        error_code=34,
        error_message="SaslAuthenticate request received after successful authentication",
    )
    assert node.lines() == []
