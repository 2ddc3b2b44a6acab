"""What a client's software is known to take."""

from __future__ import annotations

from doorkeeper.api import codes
from doorkeeper.authorizer.contract import AclBindingDeleteResult, AclDeleteResult
from doorkeeper.config.client_rules import ClientRule
from doorkeeper.connection.client_limits import ClientLimits
from doorkeeper.errors import ErrorCode
from doorkeeper_wire.messages.delete_acls import DeleteAclsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.acl import READ, WRITE, allow, topic

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
