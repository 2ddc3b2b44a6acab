"""Responses: their error code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api import registry
from doorkeeper.server.net.protocol.responses import error_code_of
from doorkeeper_wire.declared import tree
from doorkeeper_wire.messages.create_acls import AclCreationResult, CreateAclsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from doorkeeper_wire.messages.metadata import MetadataResponse, MetadataResponseTopic
from testkit.wire_values import Filling

if TYPE_CHECKING:
    from doorkeeper.server.api.declaration import Api


def apis() -> list[Api]:
    ranges = [
        *registry.apis(optional=True).ranges(controller=False),
        *registry.apis(optional=True).ranges(controller=True),
    ]
    found = {each.api_key: registry.apis(optional=True).get(each.api_key) for each in ranges}
    return [api for api in found.values() if api is not None]


def created(*codes: int) -> CreateAclsResponse:
    return CreateAclsResponse(results=tuple(AclCreationResult(error_code=code) for code in codes))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (DescribeAclsResponse(), 0),
        (DescribeAclsResponse(error_code=31), 31),
        (created(), 0),
        (created(0, 0), 0),
        (created(0, 42, 7), 42),
        (MetadataResponse(topics=(MetadataResponseTopic(error_code=3),)), 3),
        (MetadataResponse(error_code=31, topics=(MetadataResponseTopic(error_code=3),)), 31),
    ],
)
def test_response_error_code_precedes_item_codes(answer: Any, expected: int) -> None:
    """Without either it is 0."""
    assert error_code_of(answer) == expected


def response_of(api: Api) -> type:
    """Return the class of an API's answers, which stands beside that of its requests."""
    from importlib import import_module

    module = import_module(api.request.__module__)
    kind: type = getattr(module, api.request.__name__.removesuffix("Request") + "Response")
    return kind


def test_item_error_codes_are_found() -> None:
    for api in apis():
        kind = response_of(api)
        if "error_code" not in kind.__struct_fields__:  # type: ignore[attr-defined]
            declared = tree(f"{api.name}Request", api.max_version)
            frame = declared.build(Filling(sparse=False).record(declared))
            request, _ = api.request.read(frame, 0, api.max_version)

            refused = api.refuse(request, api.max_version, ApiError(ErrorCode.INVALID_REQUEST))

            assert refused is not None
            assert error_code_of(refused) == 42, api.name
