"""The standard authorizer: answers, audit, changes and their author."""

from __future__ import annotations

import logging
from itertools import pairwise

import pytest

from doorkeeper.acl.decision import DEFAULT_DENY, SUPER_USER, RuleKind
from doorkeeper.acl.model import ANY_BINDING, AclOperation, PatternType, Principal, ResourceType
from doorkeeper.acl.snapshot import EMPTY
from doorkeeper.authorizer.audit import DEBUG, INFO, TRACE
from doorkeeper.authorizer.contract import (
    AclBindingDeleteResult,
    AclCreateResult,
    AclDeleteResult,
    Action,
    AuthorizationResult,
)
from doorkeeper.authorizer.standard import StandardAuthorizer
from doorkeeper.errors import ErrorCode
from doorkeeper.storage.contract import Author
from testkit.acl import (
    DESCRIBE,
    PREFIXED,
    READ,
    WRITE,
    allow,
    deny,
    group,
    request_of,
    to,
    topic,
    wanted,
)
from testkit.authorizers import CollectedAudit, HeldStore, started

ALLOWED, DENIED = AuthorizationResult.ALLOWED, AuthorizationResult.DENIED
A, B = allow("alice", READ, topic("a", PREFIXED)), deny("alice", READ, topic("ab"))


class Guest(Principal):
    """A principal that prints itself in its own way."""

    __slots__ = ()

    def __str__(self) -> str:
        return "somebody"


async def test_actions_are_answered_in_order() -> None:
    """Each by itself, also when resources alternate."""
    authorizer = await started(A, B)

    results = authorizer.authorize(
        request_of("alice"),
        [
            to(READ, topic("aa")),
            to(READ, topic("ab")),
            to(DESCRIBE, topic("ab")),
            to(READ, group("aa")),
            to(READ, topic("aa")),
            to(WRITE, topic("aa")),
        ],
    )

    assert results == [ALLOWED, DENIED, ALLOWED, DENIED, ALLOWED, DENIED]
    assert authorizer.authorize(request_of("alice"), []) == []


async def test_only_literal_resources_are_answered() -> None:
    """A broker's text, for super users too."""
    authorizer = await started(super__users="User:root")

    with pytest.raises(ValueError, match=r"^Only literal resources are supported\. Got: PREFIXED$"):
        authorizer.authorize(request_of("root"), [to(READ, topic("a", PREFIXED))])


async def test_a_principal_counts_by_type_and_name() -> None:
    """How its class prints it does not matter."""
    authorizer = await started(A)
    context = request_of("alice")._replace(principal=Guest("User", "alice"))

    assert authorizer.authorize(context, [to(READ, topic("a"))]) == [ALLOWED]


async def test_a_configuration_that_is_refused_changes_nothing() -> None:
    """Neither the super users nor the form, whichever of them is wrong."""
    authorizer = await started(super__users="User:root")

    with pytest.raises(ValueError, match=r"^doorkeeper\.authorizer\.log\.format: found 1"):
        authorizer.configure({"super.users": "User:b", "doorkeeper.authorizer.log.format": "1"})

    assert authorizer.policy.super_users == {"User:root"}
    authorizer.configure({"super.users": "User:b"})
    assert authorizer.policy.super_users == {"User:b"}


async def test_the_default_may_be_open() -> None:
    """Only where no ACL, of whomever, covers the resource."""
    authorizer = await started(A, allow__everyone__if__no__acl__found="true")

    results = authorizer.authorize(
        request_of("bob"), [to(READ, topic("a")), to(READ, topic("b")), to(READ, group("a"))]
    )

    assert results == [DENIED, ALLOWED, ALLOWED]


@pytest.mark.parametrize(
    ("log_if_allowed", "log_if_denied", "allowed_level", "denied_level"),
    [(True, True, DEBUG, INFO), (False, False, TRACE, TRACE), (True, False, DEBUG, TRACE)],
)
async def test_lines_have_kafkas_levels(
    *, log_if_allowed: bool, log_if_denied: bool, allowed_level: int, denied_level: int
) -> None:
    """An answer that is no access by itself is written at TRACE."""
    audit = CollectedAudit()
    authorizer = await started(A, B, audit=audit)

    authorizer.authorize(
        request_of("alice"),
        [Action(READ, topic(name), 2, log_if_allowed, log_if_denied) for name in ("aa", "ab", "b")],
    )

    assert [level for level, _ in audit.lines] == [allowed_level, denied_level, denied_level]
    assert [line.partition(" based on rule ")[2][:40] for _, line in audit.lines] == [
        "MatchingAcl(acl=StandardAcl[resourceType",
        "MatchingAcl(acl=StandardAcl[resourceType",
        "DefaultDeny",
    ]


async def test_lines_that_nobody_wants_are_not_written() -> None:
    """The sink is asked for the level first."""
    audit = CollectedAudit(INFO)
    authorizer = await started(A, audit=audit, doorkeeper__authorizer__log__format="1.0")

    authorizer.authorize(request_of("alice"), [to(READ, topic("a")), to(READ, topic("b"))])

    assert audit.lines == [
        (
            INFO,
            (
                "Principal = User:alice is Denied Operation = Read from host = 10.0.0.1"
                " on resource = Topic:b"
            ),
        )
    ]


async def test_a_decision_can_be_explained() -> None:
    """With the binding and its id; nothing is audited."""
    audit = CollectedAudit()
    authorizer = await started(A, audit=audit, super__users="User:root")

    decision = authorizer.explain(request_of("alice"), to(READ, topic("ab")))

    assert (decision.allowed, decision.rule, decision.binding) == (True, RuleKind.MATCHING_ACL, A)
    assert decision.binding_id == authorizer.snapshot.id_of(A)
    assert authorizer.explain(request_of("bob"), to(READ, topic("a"))) == DEFAULT_DENY
    assert authorizer.explain(request_of("root"), to(READ, topic("a"))) == SUPER_USER
    assert audit.lines == []


async def test_without_a_store_changes_are_seen_at_once() -> None:
    """And every awaitable is completed."""
    authorizer = await started()
    bad = A._replace(pattern=topic(""))

    created = authorizer.create_acls(request_of("root"), [A, bad, B])
    assert all(each.done() for each in created)
    deleted = authorizer.delete_acls(
        request_of("root"), [wanted(name="ab"), wanted(ResourceType.UNKNOWN), ANY_BINDING]
    )

    assert created[0].result() == created[2].result() == AclCreateResult()
    refusal = created[1].result().error
    assert refusal is not None
    assert refusal.message == "Resource name should not be empty"
    assert deleted[0].result() == AclDeleteResult(bindings=(AclBindingDeleteResult(B),))
    unknown = deleted[1].result().error
    assert unknown is not None
    assert unknown.code is ErrorCode.INVALID_REQUEST
    assert [each.binding for each in deleted[2].result().bindings] == [A, B]
    assert authorizer.acl_count() == 0


async def test_a_change_tells_who_made_it() -> None:
    """Principal, address, listener and client id of the request; removals carry their ids."""
    store = HeldStore()
    authorizer = await started(store=store)
    root = request_of("root", host="10.0.0.9")
    authorizer.create_acls(root, [A])
    store.deliver()
    authorizer.delete_acls(root, [ANY_BINDING])

    created, deleted = store.changes

    assert (
        created.author
        == deleted.author
        == Author(
            principal="User:root", host="10.0.0.9", listener="PLAINTEXT", client_id="client-1"
        )
    )
    assert deleted.bindings_removed == created.bindings_added
    store.deliver()


async def test_after_closing_nothing_changes() -> None:
    """What was on its way is still delivered."""
    store = HeldStore()
    authorizer = await started(store=store)
    results = authorizer.create_acls(request_of("root"), [A])

    authorizer.close()
    refused = await authorizer.create_acls(request_of("root"), [B])[0]
    store.deliver()

    assert refused.error is not None
    assert refused.error.code is ErrorCode.NOT_CONTROLLER
    assert await results[0] == AclCreateResult()


async def test_an_acl_without_effect_is_stored_and_told(caplog: pytest.LogCaptureFixture) -> None:
    """On the logger of ours, once it is durable."""
    store = HeldStore()
    authorizer = await started(store=store)
    strange = allow("alice", AclOperation.CREATE_TOKENS, topic("a"))
    with caplog.at_level(logging.INFO, "doorkeeper.authorizer"):
        authorizer.create_acls(request_of("root"), [strange, A])
        assert caplog.records == []
        store.deliver()

    assert authorizer.acls(ANY_BINDING) == [strange, A]
    (record,) = caplog.records
    assert record.name == "doorkeeper.authorizer"
    assert record.getMessage().startswith("the ACL ALLOW CREATE_TOKENS for User:alice on TOPIC")


async def test_some_resource_of_a_type() -> None:
    """The probe is audited under its own name; a denial of it at TRACE."""
    audit = CollectedAudit(DEBUG)
    authorizer = await started(A, audit=audit, super__users="User:root")

    def some(user: str) -> AuthorizationResult:
        return authorizer.authorize_by_resource_type(request_of(user), READ, ResourceType.TOPIC)

    assert (some("alice"), some("bob"), some("root")) == (ALLOWED, DENIED, ALLOWED)
    assert audit.lines == [
        (
            DEBUG,
            (
                "Principal = User:root is Allowed operation = READ from host = 10.0.0.1 on"
                " resource ="
                " Topic:LITERAL:hardcode for request = DescribeAcls with resourceRefCount = 0"
                " based on"
                " rule SuperUser"
            ),
        )
    ]


@pytest.mark.parametrize(
    ("operation", "resource_type", "text"),
    [
        (
            READ,
            ResourceType.ANY,
            "Must specify a non-filter resource type for authorizeByResourceType",
        ),
        (READ, ResourceType.UNKNOWN, "Unknown resource type"),
        (
            AclOperation.ANY,
            ResourceType.TOPIC,
            "Must specify a non-filter operation type for authorizeByResourceType",
        ),
        (AclOperation.UNKNOWN, ResourceType.TOPIC, "Unknown operation type"),
    ],
)
async def test_some_cannot_be_asked_of_filters(
    operation: AclOperation, resource_type: ResourceType, text: str
) -> None:
    """The broker's texts."""
    authorizer = await started(A)

    with pytest.raises(ValueError, match=f"^{text}$"):
        authorizer.authorize_by_resource_type(request_of("alice"), operation, resource_type)


def test_one_that_was_only_made_describes_nothing() -> None:
    """Before the start there are no ACLs."""
    authorizer = StandardAuthorizer()

    assert authorizer.acls(wanted(pattern_type=PatternType.ANY)) == []
    assert authorizer.acl_count() == 0
    authorizer.close()


@pytest.mark.parametrize("open_to_all", ["true", "false"])
@pytest.mark.parametrize("user", ["alice", "bob", "root"])
async def test_masks_are_those_of_single_questions(user: str, open_to_all: str) -> None:
    """In one pass, or one by one where somebody reads the audit: the same masks."""
    no_writing = deny("alice", WRITE, topic("orders"))
    bindings = (A, B, no_writing, allow("User:*", READ, topic("or", PREFIXED)))
    resources = [topic("orders"), topic("bills"), topic("other"), group("readers")]
    audit = CollectedAudit(TRACE)
    quiet = await started(
        *bindings, super__users="User:root", allow__everyone__if__no__acl__found=open_to_all
    )
    heard = await started(
        *bindings,
        audit=audit,
        super__users="User:root",
        allow__everyone__if__no__acl__found=open_to_all,
    )

    masks = quiet.authorized_operations(request_of(user), resources)

    assert masks == heard.authorized_operations(request_of(user), resources)
    assert {level for level, _ in audit.lines} == {TRACE}
    assert len(audit.lines) == 8 * 3 + 5
    with pytest.raises(ValueError, match="Only literal"):
        heard.authorized_operations(request_of(user), [topic("or", PREFIXED)])


async def test_what_nobody_asked_for_is_the_servers_doing() -> None:
    """A change without a request has the server itself as its author."""
    store = HeldStore()
    authorizer = await started(store=store)

    authorizer.create_acls(None, [A])
    store.deliver()
    authorizer.delete_acls(None, [wanted()])

    assert [change.author.principal for change in store.changes] == ["Server:doorkeeper"] * 2


async def test_what_is_decided_from_changes_with_acls_policy_and_levels() -> None:
    """As long as it stays, nothing that is asked again can be answered otherwise."""
    audit = CollectedAudit(INFO)
    authorizer = await started(audit=audit)
    seen = [authorizer.decided_from()]
    assert authorizer.decided_from() == seen[0]

    authorizer.create_acls(None, [B])
    seen.append(authorizer.decided_from())
    authorizer.reconfigure({"super.users": "User:alice"})
    seen.append(authorizer.decided_from())
    audit.level = 30
    seen.append(authorizer.decided_from())

    assert None not in seen
    assert all(one != other for one, other in pairwise(seen))


async def test_nothing_is_decided_from_what_cannot_be_told() -> None:
    """Before the ACLs are loaded, where each decision is written, and of a class of another's."""

    class Other(StandardAuthorizer):
        pass

    other = Other(audit=CollectedAudit(100))
    other._loaded(EMPTY)

    assert StandardAuthorizer(audit=CollectedAudit(100)).decided_from() is None
    assert (await started(audit=CollectedAudit(DEBUG))).decided_from() is None
    assert other.decided_from() is None


async def test_written_lines_are_counted() -> None:
    """Those that nobody wants are none."""
    authorizer = await started(A, audit=CollectedAudit(INFO))

    authorizer.authorize(request_of("alice"), [to(READ, topic("a")), to(READ, topic("b"))])

    assert authorizer.traces == 1
