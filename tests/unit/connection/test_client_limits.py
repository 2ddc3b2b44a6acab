"""What a client's software is known to take."""

from __future__ import annotations

from doorkeeper.api import codes
from doorkeeper.authorizer.contract import AclBindingDeleteResult, AclDeleteResult
from doorkeeper.config.client_rules import ClientRule
from doorkeeper.connection.client_limits import ClientLimits
from doorkeeper.connection.exchange import Counts, LogEvent, Login
from doorkeeper.errors import ErrorCode
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest
from doorkeeper_wire.messages.delete_acls import DeleteAclsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.acl import READ, WRITE, allow, topic
from testkit.settings import settings_of

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


def test_a_rule_is_for_the_software_that_it_names() -> None:
    """The name comes from ApiVersions 3 on; what an older version says is none."""
    client = ClientLimits()
    request = ApiVersionsRequest(client_software_name="kgo", client_software_version="1")

    client.identify(request, 2)
    assert client.readable(DESCRIPTION, rules(1, 1, software="kgo")) == (DESCRIPTION, 0)
    client.identify(request, 3)
    assert client.readable(DESCRIPTION, rules(1, 1)) == (DESCRIPTION, 0)
    assert client.readable(DESCRIPTION, rules(1, 1, software="kgo"))[1] == 2


def test_what_is_withheld_is_counted_and_noted_once() -> None:
    """The log has one line for a connection."""
    client, counts = ClientLimits(), Counts()
    notes: list[LogEvent | Login] = []
    settings = settings_of("doorkeeper.clients.withhold=unnamed=1/99\n")

    client.withhold(DESCRIPTION, settings, counts, notes)
    client.withhold(DESCRIPTION, settings, counts, notes)

    (note,) = notes
    assert isinstance(note, LogEvent)
    assert counts.withheld_acls == 4
    assert note.fields == {"acls": 2, "software": "unnamed", "software_version": ""}


def test_only_a_description_can_be_too_large() -> None:
    """What is deleted is told, however much it is."""
    client = ClientLimits()

    assert client.too_large(DESCRIPTION, 100, rules(100)) is None
    assert client.too_large(DELETION, 101, rules(100)) is None
    error = client.too_large(DESCRIPTION, 101, rules(100))
    assert error is not None
    assert error.code is ErrorCode.POLICY_VIOLATION
