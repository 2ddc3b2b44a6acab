"""Frames of responses, the error code that stands for one, and where there can be none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.connection.responses import ITEMS, error_code_of
from doorkeeper.handlers import registry
from doorkeeper_wire.messages.create_acls import AclCreationResult, CreateAclsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from doorkeeper_wire.messages.metadata import MetadataResponse, MetadataResponseTopic

if TYPE_CHECKING:
    from doorkeeper.api.declaration import Api


def apis() -> list[Api]:
    ranges = [
        *registry.api_ranges(controller=False, optional=True),
        *registry.api_ranges(controller=True, optional=True),
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
def test_the_answers_own_code_then_the_first_of_its_items(answer: Any, expected: int) -> None:
    """Without either it is 0."""
    assert error_code_of(answer) == expected


def response_of(api: Api) -> type:
    """Return the class of an API's answers, which stands beside that of its requests."""
    from importlib import import_module  # noqa: PLC0415

    module = import_module(api.request.__module__)
    kind: type = getattr(module, api.request.__name__.removesuffix("Request") + "Response")
    return kind


def test_items_that_have_codes_are_looked_at() -> None:
    """Where the items of an answer have codes, the table knows where they are."""
    for api in apis():
        kind = response_of(api)
        if "error_code" not in kind.FIELDS:  # type: ignore[attr-defined]
            assert kind.__name__ in ITEMS, api.name
            ITEMS[kind.__name__](kind())
