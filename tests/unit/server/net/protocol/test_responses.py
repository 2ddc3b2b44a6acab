"""Responses: their error code, and what is withheld from clients that would fail on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api import codes, registry
from doorkeeper.server.authorizer.contract import AclBindingDeleteResult, AclDeleteResult
from doorkeeper.server.config.client_rules import ClientRule
from doorkeeper.server.net.protocol.client_limits import ClientLimits
from doorkeeper.server.net.protocol.exchange import Counts, LogEvent
from doorkeeper.server.net.protocol.responses import error_code_of
from doorkeeper_wire.declared import tree
from doorkeeper_wire.messages.create_acls import AclCreationResult, CreateAclsResponse
from doorkeeper_wire.messages.delete_acls import DeleteAclsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from doorkeeper_wire.messages.metadata import MetadataResponse, MetadataResponseTopic
from testkit.acl import READ, WRITE, allow, topic
from testkit.deliveries import body, one, results
from testkit.edge import connection, describe, versions
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
def test_the_answers_own_code_then_the_first_of_its_items(answer: Any, expected: int) -> None:
    """Without either it is 0."""
    assert error_code_of(answer) == expected


def response_of(api: Api) -> type:
    """Return the class of an API's answers, which stands beside that of its requests."""
    from importlib import import_module

    module = import_module(api.request.__module__)
    kind: type = getattr(module, api.request.__name__.removesuffix("Request") + "Response")
    return kind


def test_items_that_have_codes_are_looked_at() -> None:
    """Where the whole answer has no code, items have one: it is found in each API's refusal."""
    for api in apis():
        kind = response_of(api)
        if "error_code" not in kind.__struct_fields__:  # type: ignore[attr-defined]
            declared = tree(f"{api.name}Request", api.max_version)
            frame = declared.build(Filling(sparse=False).record(declared))
            request, _ = api.request.decode(frame, 0, api.max_version)

            refused = api.refuse(request, api.max_version, ApiError(ErrorCode.INVALID_REQUEST))

            assert refused is not None
            assert error_code_of(refused) == 42, api.name


WITHHOLD = "doorkeeper.clients.withhold=test=7/14,unnamed=6/12\n"
ODD = describe("codes:2/3 2/15 7/13 8/3")


def told_codes(result: Any) -> list[tuple[int, int]]:
    """Return resource type and operation of the ACLs in an answer."""
    found = body(result, DescribeAclsResponse, 3)
    return [(row.resource_type, acl.operation) for row in found.resources for acl in row.acls]


def test_nothing_is_withheld_by_default() -> None:
    """Whatever a client is called, it sees what a broker would show it."""
    to = connection()
    one(to, versions())

    assert told_codes(one(to, ODD)) == [(2, 3), (2, 15), (7, 13), (8, 3)]


def test_acls_are_withheld_from_software_that_cannot_read_them() -> None:
    """By the name of ApiVersions; they are counted, and a connection is told of once."""
    counts = Counts()
    to = connection(properties=WITHHOLD, counts=counts)
    one(to, versions())

    assert told_codes(one(to, ODD)) == [(2, 3), (7, 13)]
    assert told_codes(one(to, ODD)) == [(2, 3), (7, 13)]
    assert counts.withheld_acls == 4
    (note,) = [each for each in to.events if isinstance(each, LogEvent)]
    assert note.error is None
    assert note.fields == {"acls": 2, "software": "test", "software_version": "1.0"}


@pytest.mark.parametrize("said", [b"", versions(2)])
def test_software_without_a_name_has_a_rule_of_its_own(said: bytes) -> None:
    """Clients that ask for no versions, or for old ones, are ``unnamed``."""
    to = connection(properties=WITHHOLD)
    results(to, said)

    assert told_codes(one(to, ODD)) == [(2, 3)]


def test_an_answer_that_a_client_would_not_survive_is_refused() -> None:
    """The limit is on the bytes of the answer, and the refusal says both numbers."""
    to = connection(properties="doorkeeper.clients.answer.max.bytes=test=20100\n")
    one(to, versions())

    small = body(one(to, describe("long:2")), DescribeAclsResponse, 3)
    large = body(one(to, describe("long:3")), DescribeAclsResponse, 3)

    assert len(small.resources) == 2
    assert (large.error_code, large.resources) == (ErrorCode.POLICY_VIOLATION, ())
    assert large.error_message.startswith("The answer has 30")
    assert "test may get 20100" in large.error_message


BINDINGS = [allow("User:a", READ, topic("t")), allow("User:a", WRITE, topic("u"))]
DESCRIPTION = DescribeAclsResponse(resources=codes.resource_rows(BINDINGS))
DELETION = DeleteAclsResponse(
    filter_results=(
        codes.filter_result(AclDeleteResult(bindings=tuple(map(AclBindingDeleteResult, BINDINGS)))),
    )
)


def rules(*numbers: int, software: str = "unnamed") -> list[ClientRule]:
    return [ClientRule(software, "", numbers)]


def test_what_a_client_cannot_read_is_left_out() -> None:
    """Of both answers; a resource without ACLs is none, a filter without matches stays."""
    client = ClientLimits()

    kept, withheld = client.readable(DESCRIPTION, rules(7, 3))
    assert [row.resource_name for row in kept.resources] == ["t"]
    assert withheld == 1
    nothing, withheld = client.readable(DESCRIPTION, rules(1, 99))
    assert (nothing.resources, withheld) == ((), 2)

    kept, withheld = client.readable(DELETION, rules(7, 3))
    assert [acl.resource_name for acl in kept.filter_results[0].matching_acls] == ["t"]
    assert withheld == 1


def test_only_a_description_can_be_too_large() -> None:
    """What is deleted is told, however much it is."""
    client = ClientLimits()

    assert client.too_large(DESCRIPTION, 100, rules(100)) is None
    assert client.too_large(DELETION, 101, rules(100)) is None
    error = client.too_large(DESCRIPTION, 101, rules(100))
    assert error is not None
    assert error.code is ErrorCode.POLICY_VIOLATION
