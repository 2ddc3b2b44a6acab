"""doorkeeper.server.operations.audit.event_builder: events from what the server knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from doorkeeper.acls.bulk import load
from doorkeeper.acls.decision import Policy
from doorkeeper.acls.model import AclOperation, PatternType, ResourcePattern, ResourceType
from doorkeeper.acls.snapshot import EMPTY
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.authorizer.contract import (
    AclBindingDeleteResult,
    AclCreateResult,
    AclDeleteResult,
    Action,
)
from doorkeeper.server.operations.audit.event_builder import (
    Seen,
    SeenLogin,
    change_events,
    change_from_results,
    decision_event,
    decision_events,
    login_event,
)
from doorkeeper.server.operations.audit.events import Binding, Item
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import SERVER, Edit, edit
from doorkeeper.server.schema.declared import (
    ACL,
    CONFIG,
    CREDENTIAL,
    KINDS,
    TOKEN,
    TOPIC,
    StoredConfig,
    StoredCredential,
    StoredToken,
    StoredTopic,
)
from doorkeeper.server.state.log import origin_of
from doorkeeper_wire.framing import RequestHeader
from testkit.acl import allow, request_of
from testkit.trails import LOGIN

if TYPE_CHECKING:
    from doorkeeper.server.net.protocol.exchange import Login as ConnectionLogin

ORDERS = ResourcePattern(ResourceType.TOPIC, "orders", PatternType.LITERAL)
BINDING = allow("bob", AclOperation.READ, ORDERS)
SNAPSHOT = load([StoredBinding("id-1", BINDING)])
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
    return Seen(
        key="key",
        context=context,
        action=action,
        allowed=allowed,
        policy=policy,
        snapshot=snapshot,
        first_ns=50,
        last_ns=50,
        last_correlation_id=context.correlation_id,
    )


def seen_login(login: ConnectionLogin = LOGIN) -> SeenLogin:
    last = None if login.header is None else login.header.correlation_id
    return SeenLogin(login=login, first_ns=50, last_ns=50, last_correlation_id=last)


def test_decision_event_has_its_rule() -> None:
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
def test_rule_names(entry: Seen, outcome: str, rule: str | None) -> None:
    """Each rule has Kafka's word and no binding; a plug-in's decision has none."""
    event = decision_event(entry)

    assert (event.outcome, event.rule, event.binding) == (outcome, rule, None)


def test_equal_rules_of_several_states_are_merged() -> None:
    later = load([StoredBinding("id-2", BINDING)])
    first, second, third = seen(), seen(snapshot=SNAPSHOT), seen(snapshot=later)
    second.count, second.last_ns, second.last_correlation_id = 4, 90, 12

    one, other = decision_events([first, second, third])

    assert (one.count, one.first_ns, one.last_ns) == (5, 50, 90)
    assert (one.correlation_id, one.last_correlation_id) == (7, 12)
    assert one.binding == AS_EVENT
    assert other.binding is not None
    assert (other.count, other.binding.id) == (1, "id-2")


def test_login_events() -> None:
    event = login_event(seen_login())

    assert (event.outcome, event.principal, event.reason) == ("FAILED", None, "wrong password")
    assert (event.mechanism, event.host, event.listener) == ("PLAIN", "10.0.0.7", "SASL")
    assert (event.api, event.api_key, event.correlation_id, event.client_id) == (None,) * 3 + ("",)
    header = RequestHeader(api_key=36, api_version=2, correlation_id=9, client_id=None)
    success = replace(
        LOGIN,
        reason=None,
        principal=request_of("bob").principal,
        header=header,
        reauthentication=True,
    )

    event = login_event(seen_login(success))

    assert (event.outcome, event.principal, event.reason) == ("SUCCEEDED", "User:bob", None)
    assert (event.api, event.api_version, event.correlation_id) == ("SaslAuthenticate", 2, 9)
    assert (event.client_id, event.reauthentication, event.last_correlation_id) == ("", True, 9)


def test_acl_change_event() -> None:
    change = edit(ACL, set=[StoredBinding("id-1", BINDING)], deleted=[StoredBinding("", BINDING)])

    (event,) = change_events(change, 12, origin_of(request_of("root")))

    assert (event.subject, event.revision, event.principal) == ("acls", 12, "User:root")
    assert (event.host, event.listener, event.client_id) == ("10.0.0.1", "PLAINTEXT", "client-1")
    assert (event.api, event.api_version, event.correlation_id) == ("DescribeAcls", 3, 7)
    assert event.added == (AS_EVENT,)
    assert event.removed[0].id is None
    assert event.items == ()


def test_other_change_events_have_only_names() -> None:
    secret = "s3cret"
    keys = (b"salt", secret.encode(), secret.encode(), 4096)
    token = StoredToken("t-1", "User:bob", "User:bob", (), 1, 2, 3, secret.encode())
    topic = StoredTopic("orders", bytes(16), 1, 1, {"key": secret})
    change = {
        CREDENTIAL: Edit(
            (StoredCredential("bob", "SCRAM-SHA-256", *keys),),
            (StoredCredential("eve", "SCRAM-SHA-512", *keys),),
        ),
        TOKEN: Edit((token,), (replace(token, token_id="t-2"),)),
        TOPIC: Edit((topic, replace(topic, name="bills")), (replace(topic, name="old"),)),
        CONFIG: Edit(
            (StoredConfig("1", "super.users", secret),),
            (StoredConfig("", "max.connections", secret),),
        ),
    }

    events = list(change_events(change, 3, SERVER))

    assert [event.subject for event in events] == ["users", "tokens", "topics", "configs"]
    assert [(event.api, event.security_protocol) for event in events] == [(None, "")] * 4
    assert [(each.action, each.name, each.detail) for event in events for each in event.items] == [
        ("set", "bob", "SCRAM-SHA-256"),
        ("deleted", "eve", "SCRAM-SHA-512"),
        ("set", "t-1", "User:bob"),
        ("deleted", "t-2", "User:bob"),
        ("set", "orders", ""),
        ("set", "bills", ""),
        ("deleted", "old", ""),
        ("set", "super.users", "1"),
        ("deleted", "max.connections", ""),
    ]
    assert all(isinstance(item, Item) for event in events for item in event.items)
    assert secret not in str(events)


def test_every_kind_names_its_rows() -> None:
    """By columns that it has and that are no secret."""
    for kind in KINDS.values():
        names = set(filter(None, (kind.audit_name, kind.audit_detail)))
        assert names <= {*kind.row.__annotations__}
        assert names.isdisjoint(getattr(kind.row, "SECRETS", ()))


def test_plug_in_changes_include_only_successes() -> None:
    refused = ApiError(ErrorCode.INVALID_REQUEST)
    other = allow("eve", AclOperation.READ, ORDERS)

    made = change_from_results([BINDING, other], [AclCreateResult(), AclCreateResult(refused)])
    gone = change_from_results(
        [],
        [
            AclDeleteResult(
                bindings=(AclBindingDeleteResult(BINDING), AclBindingDeleteResult(other, refused))
            ),
            AclDeleteResult(bindings=(AclBindingDeleteResult(BINDING),)),
            AclDeleteResult(refused),
        ],
    )

    assert made == edit(ACL, set=[StoredBinding("", BINDING)])
    assert gone == edit(ACL, deleted=[StoredBinding("", BINDING)])
    assert change_from_results([BINDING], [AclCreateResult(refused)]) == {}
    assert change_from_results([], [AclDeleteResult(refused)]) == {}
    assert change_from_results([], []) == {}
