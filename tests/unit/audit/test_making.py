"""doorkeeper.audit.making: events from what the server knows."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acl.decision import Policy
from doorkeeper.acl.model import AclOperation, PatternType, ResourcePattern, ResourceType
from doorkeeper.acl.snapshot import EMPTY
from doorkeeper.audit.events import Binding, Item
from doorkeeper.audit.making import (
    change_events,
    created,
    decision_event,
    decision_events,
    deleted,
    login_event,
    reported,
)
from doorkeeper.audit.merging import Seen, SeenLogin
from doorkeeper.authn.credentials import ScramCredential
from doorkeeper.authorizer.contract import (
    AclBindingDeleteResult,
    AclCreateResult,
    AclDeleteResult,
    Action,
)
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.node import CreateAcls, DeleteAcls
from doorkeeper.storage.contract import (
    Asker,
    Author,
    Change,
    ConfigKey,
    CredentialKey,
    StoredBinding,
    StoredToken,
    StoredTopic,
)
from doorkeeper_wire.headers import RequestHeader
from testkit.acl import allow, request_of
from testkit.trails import LOGIN

ORDERS = ResourcePattern(ResourceType.TOPIC, "orders", PatternType.LITERAL)
BINDING = allow("bob", AclOperation.READ, ORDERS)
SNAPSHOT = EMPTY.with_added([StoredBinding("id-1", BINDING)])
AS_EVENT = Binding(
    id="id-1",
    resource_type="TOPIC",
    pattern_type="LITERAL",
    resource_name="orders",
    principal="User:bob",
    host="*",
    operation="READ",
    permission="ALLOW",
)


def seen(user: str = "bob", *, allowed: bool = True, **changes: Any) -> Seen:
    action = changes.pop("action", Action(AclOperation.READ, ORDERS, 3))
    policy = changes.pop("policy", Policy(super_users=frozenset({"User:root"})))
    snapshot = changes.pop("snapshot", SNAPSHOT)
    context = request_of(user)._replace(client_software="java/4.0", **changes)
    return Seen("key", context, action, policy, snapshot, 50, allowed=allowed)


def test_a_decision_with_its_rule() -> None:
    """The event tells who, what, how it was decided, and the binding with its id."""
    event = decision_event(seen())

    assert (event.principal, event.host, event.listener) == ("User:bob", "10.0.0.1", "PLAINTEXT")
    assert (event.security_protocol, event.client_id) == ("PLAINTEXT", "client-1")
    assert (event.client_software, event.api, event.api_key) == ("java/4.0", "DescribeAcls", 29)
    assert (event.api_version, event.correlation_id, event.last_correlation_id) == (3, 7, 7)
    assert (event.operation, event.resource_type) == ("READ", "TOPIC")
    assert (event.pattern_type, event.resource_name) == ("LITERAL", "orders")
    assert (event.outcome, event.rule, event.binding) == ("ALLOWED", "MatchingAcl", AS_EVENT)
    assert (event.purpose, event.reference_count) == ("access", 3)
    assert (event.count, event.first_ns, event.last_ns) == (1, 50, 50)


@pytest.mark.parametrize(
    ("entry", "outcome", "rule"),
    [
        (seen("root"), "ALLOWED", "SuperUser"),
        (seen("eve", allowed=False), "DENIED", "DefaultDeny"),
        (
            seen("eve", policy=Policy(allow_everyone=True), snapshot=EMPTY),
            "ALLOWED",
            "DefaultAllow",
        ),
        (seen("eve", allowed=False, policy=None, snapshot=None), "DENIED", None),
    ],
)
def test_rules(entry: Seen, outcome: str, rule: str | None) -> None:
    """Each rule has Kafka's word and no binding; a plug-in's decision has none."""
    event = decision_event(entry)

    assert (event.outcome, event.rule, event.binding) == (outcome, rule, None)


def test_a_probe() -> None:
    """What Kafka does not log when it is denied is a probe; an unknown API is its number."""
    probe = Action(AclOperation.READ, ORDERS, log_if_denied=False)

    event = decision_event(seen(action=probe, request_type=999))

    assert (event.purpose, event.log_if_allowed, event.log_if_denied) == ("probe", True, False)
    assert event.api == "999"


def test_states_with_one_rule_are_one_event() -> None:
    """Equal decisions of several states are one event if the rule is the same, else several."""
    later = EMPTY.with_added([StoredBinding("id-2", BINDING)])
    first, second, third = seen(), seen(snapshot=SNAPSHOT), seen(snapshot=later)
    second.count, second.last_ns, second.last_correlation_id = 4, 90, 12

    one, other = decision_events([first, second, third])

    assert (one.count, one.first_ns, one.last_ns) == (5, 50, 90)
    assert (one.correlation_id, one.last_correlation_id) == (7, 12)
    assert one.binding == AS_EVENT
    assert other.binding is not None
    assert (other.count, other.binding.id) == (1, "id-2")


def test_logins() -> None:
    """A failure has a reason and no principal; what there was no request for is null."""
    event = login_event(SeenLogin(LOGIN, 50))

    assert (event.outcome, event.principal, event.reason) == ("FAILED", None, "wrong password")
    assert (event.mechanism, event.host, event.listener) == ("PLAIN", "10.0.0.7", "SASL")
    assert (event.api, event.api_key, event.correlation_id, event.client_id) == (None,) * 3 + ("",)
    header = RequestHeader(api_key=36, api_version=2, correlation_id=9, client_id=None)
    success = LOGIN._replace(
        reason=None, principal=request_of("bob").principal, header=header, reauthentication=True
    )

    event = login_event(SeenLogin(success, 50))

    assert (event.outcome, event.principal, event.reason) == ("SUCCEEDED", "User:bob", None)
    assert (event.api, event.api_version, event.correlation_id) == ("SaslAuthenticate", 2, 9)
    assert (event.client_id, event.reauthentication, event.last_correlation_id) == ("", True, 9)


def test_a_change_of_acls() -> None:
    """The event tells who asked, from where, by which request, the revision, old and new."""
    change = Change(
        author=Asker.of(request_of("root")),
        bindings_added=(StoredBinding("id-1", BINDING),),
        bindings_removed=(StoredBinding("", BINDING),),
    )

    (event,) = change_events(change, 12)

    assert (event.subject, event.revision, event.principal) == ("acls", 12, "User:root")
    assert (event.host, event.listener, event.client_id) == ("10.0.0.1", "PLAINTEXT", "client-1")
    assert (event.api, event.api_version, event.correlation_id) == ("DescribeAcls", 3, 7)
    assert event.added == (AS_EVENT,)
    assert event.removed[0].id is None
    assert event.items == ()


def test_other_changes_tell_names_only() -> None:
    """Users, tokens, topics and keys are told by name; no value, no secret, none of an author
    that is no client's request."""
    secret = "s3cret"
    credential = ScramCredential(b"salt", secret.encode(), secret.encode(), 4096)
    token = StoredToken("t-1", "User:bob", "User:bob", (), 1, 2, 3, secret.encode())
    topic = StoredTopic("orders", bytes(16), 1, 1, {"key": secret})
    change = Change(
        author=Author("Server:doorkeeper", "", "", ""),
        credentials_set=((CredentialKey("bob", "SCRAM-SHA-256"), credential),),
        credentials_deleted=(CredentialKey("eve", "SCRAM-SHA-512"),),
        tokens_set=(token,),
        tokens_deleted=("t-2",),
        topics_added=(topic,),
        topics_altered=(topic._replace(name="bills"),),
        topics_removed=("old",),
        configs_set=((ConfigKey("1", "super.users"), secret),),
        configs_deleted=(ConfigKey("", "max.connections"),),
    )

    events = list(change_events(change, 3))

    assert [event.subject for event in events] == ["users", "tokens", "topics", "configs"]
    assert [(event.api, event.security_protocol) for event in events] == [(None, "")] * 4
    assert [(each.action, each.name, each.detail) for event in events for each in event.items] == [
        ("set", "bob", "SCRAM-SHA-256"),
        ("deleted", "eve", "SCRAM-SHA-512"),
        ("set", "t-1", "User:bob"),
        ("deleted", "t-2", ""),
        ("set", "orders", ""),
        ("set", "bills", ""),
        ("deleted", "old", ""),
        ("set", "super.users", "1"),
        ("deleted", "max.connections", ""),
    ]
    assert all(isinstance(item, Item) for event in events for item in event.items)
    assert secret not in str(events)


def test_what_a_plug_in_reports() -> None:
    """Of a plug-in's results only what succeeded is a change; ids it does not tell."""
    refused = ApiError(ErrorCode.INVALID_REQUEST)
    other = allow("eve", AclOperation.READ, ORDERS)
    asked = request_of("root")

    made = reported(
        CreateAcls(bindings=(BINDING, other), finish=None),  # type: ignore[arg-type]
        [AclCreateResult(), AclCreateResult(refused)],
        asked,
    )
    gone = reported(
        DeleteAcls(filters=(), finish=None),  # type: ignore[arg-type]
        [
            AclDeleteResult(
                bindings=(AclBindingDeleteResult(BINDING), AclBindingDeleteResult(other, refused))
            ),
            AclDeleteResult(bindings=(AclBindingDeleteResult(BINDING),)),
            AclDeleteResult(refused),
        ],
        asked,
    )

    assert made.bindings_added == (StoredBinding("", BINDING),)
    assert gone.bindings_removed == (StoredBinding("", BINDING),)
    assert made.author == Author("User:root", "10.0.0.1", "PLAINTEXT", "client-1")


def test_what_a_plug_in_reports_unasked_by_clients() -> None:
    """The author is who is given; items that failed are no change."""
    author = Author("Server:doorkeeper", "", "", "")
    refused = ApiError(ErrorCode.INVALID_REQUEST)

    made = created([BINDING], [AclCreateResult()], author)
    gone = deleted([AclDeleteResult(bindings=(AclBindingDeleteResult(BINDING),))], author)

    assert made == Change(author=author, bindings_added=(StoredBinding("", BINDING),))
    assert gone == Change(author=author, bindings_removed=(StoredBinding("", BINDING),))
    assert not created([BINDING], [AclCreateResult(refused)], author)
    assert not deleted([AclDeleteResult(refused)], author)


def test_a_clock_that_was_set_back() -> None:
    """An event runs from the earliest to the latest time, whatever the clock did in between."""
    before, after = seen(), seen(snapshot=SNAPSHOT)
    before.count, before.last_ns = 2, 20
    after.first_ns = after.last_ns = 10
    login = SeenLogin(LOGIN, 50)
    login.last_ns = 20

    (event,) = decision_events([before, after])

    assert (event.first_ns, event.last_ns) == (10, 50)
    assert (login_event(login).first_ns, login_event(login).last_ns) == (20, 50)
