"""doorkeeper.audit.occurrences: how often and when something happened."""

from __future__ import annotations

from doorkeeper.acl.model import AclOperation
from doorkeeper.audit.occurrences import Seen, SeenLogin
from doorkeeper.authorizer.contract import Action
from doorkeeper_wire.headers import RequestHeader
from testkit.acl import request_of, topic
from testkit.trails import LOGIN


def test_a_decision_begins_with_the_request_that_asked() -> None:
    """It is counted once; the first time and correlation id are the last ones too."""
    action = Action(AclOperation.READ, topic("orders"))

    seen = Seen("key", request_of("bob"), action, None, None, 50, allowed=True)

    assert (seen.count, seen.first_ns, seen.last_ns) == (1, 50, 50)
    assert seen.last_correlation_id == seen.context.correlation_id


def test_a_login_has_a_correlation_id_where_it_has_a_header() -> None:
    """A login without a request, as by a certificate, has none."""
    header = RequestHeader(api_key=36, api_version=2, correlation_id=9, client_id=None)

    with_header, without = SeenLogin(LOGIN._replace(header=header), 50), SeenLogin(LOGIN, 50)

    assert (with_header.last_correlation_id, without.last_correlation_id) == (9, None)
    assert (without.count, without.first_ns, without.last_ns) == (1, 50, 50)
