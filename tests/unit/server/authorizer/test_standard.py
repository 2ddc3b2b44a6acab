"""The standard authorizer: changes and their author, caching, and what Kafka's log lines need.

test_recorded_answers.py compares decisions and log lines with Kafka's.
"""

from __future__ import annotations

import asyncio
import logging

import pytest

from doorkeeper.acls.decision import DEFAULT_DENY, SUPER_USER, RuleKind
from doorkeeper.acls.model import ANY_BINDING, AclOperation, Principal, ResourceType
from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.authorizer.authorizer_log import INFO, TRACE
from doorkeeper.server.authorizer.contract import (
    AclBindingDeleteResult,
    AclCreateResult,
    AclDeleteResult,
    AuthorizationResult,
)
from doorkeeper.server.schema.change import Author
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.state.memory import MemoryStore
from doorkeeper.server.state.store import StorageError
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
from testkit.authorizers import CollectedAuthorizerLog, HeldStore, settled, started

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


async def test_only_literal_resources_are_supported() -> None:
    authorizer = await started(super__users="User:root")

    with pytest.raises(ValueError, match=r"^Only literal resources are supported\. Got: PREFIXED$"):
        authorizer.authorize(request_of("root"), [to(READ, topic("a", PREFIXED))])


async def test_principal_is_compared_by_type_and_name() -> None:
    authorizer = await started(A)
    context = request_of("alice")._replace(principal=Guest("User", "alice"))

    assert authorizer.authorize(context, [to(READ, topic("a"))]) == [ALLOWED]


async def test_rejected_configuration_changes_nothing() -> None:
    authorizer = await started(super__users="User:root")

    with pytest.raises(ValueError, match=r"^doorkeeper\.authorizer\.log\.format: found 1"):
        authorizer.configure({"super.users": "User:b", "doorkeeper.authorizer.log.format": "1"})

    assert authorizer.policy.super_users == {"User:root"}
    authorizer.configure({"super.users": "User:b"})
    assert authorizer.policy.super_users == {"User:b"}


async def test_unneeded_log_lines_are_not_formatted() -> None:
    audit = CollectedAuthorizerLog(INFO)
    authorizer = await started(A, authorizer_log=audit, doorkeeper__authorizer__log__format="1.0")

    authorizer.authorize(request_of("alice"), [to(READ, topic("a")), to(READ, topic("b"))])

    [(level, line)] = audit.lines
    assert level == INFO
    assert line == (
        "Principal = User:alice is Denied Operation = Read from host = 10.0.0.1 on resource ="
        " Topic:b"
    )


async def test_decision_can_be_explained() -> None:
    audit = CollectedAuthorizerLog()
    authorizer = await started(A, authorizer_log=audit, super__users="User:root")

    decision = authorizer.explain(request_of("alice"), to(READ, topic("ab")))

    assert (decision.allowed, decision.rule, decision.binding) == (True, RuleKind.MATCHING_ACL, A)
    assert decision.binding_id == authorizer.snapshot.id_of(A)
    assert authorizer.explain(request_of("bob"), to(READ, topic("a"))) == DEFAULT_DENY
    assert authorizer.explain(request_of("root"), to(READ, topic("a"))) == SUPER_USER
    assert audit.lines == []


async def test_acls_are_kept_in_memory_without_a_store() -> None:
    authorizer = await started()
    bad = A._replace(pattern=topic(""))

    created = await authorizer.create_acls(request_of("root"), [A, bad, B])
    assert authorizer.acls(ANY_BINDING) == [A, B]
    deleted = await authorizer.delete_acls(
        request_of("root"), [wanted(name="ab"), wanted(ResourceType.UNKNOWN), ANY_BINDING]
    )

    assert created[0] == created[2] == AclCreateResult()
    refusal = created[1].error
    assert refusal is not None
    assert refusal.message == "Resource name should not be empty"
    assert deleted[0] == AclDeleteResult(bindings=(AclBindingDeleteResult(B),))
    unknown = deleted[1].error
    assert unknown is not None
    assert unknown.code is ErrorCode.INVALID_REQUEST
    assert [each.binding for each in deleted[2].bindings] == [A, B]
    assert authorizer.acl_count() == 0


async def test_change_has_its_author() -> None:
    store = MemoryStore()
    authorizer = await started(store=store)
    root = request_of("root", host="10.0.0.9")
    await authorizer.create_acls(root, [A])
    await authorizer.delete_acls(root, [ANY_BINDING])
    await authorizer.create_acls(None, [A])
    await authorizer.delete_acls(None, [wanted()])

    created, deleted, *by_server = store.entries

    author = Author("User:root", "10.0.0.9", "PLAINTEXT", "client-1", "", root.correlation_id)
    assert created.author == deleted.author == author
    assert deleted.change[ACL].deleted == created.change[ACL].set
    assert [entry.author.principal for entry in by_server] == ["Server:doorkeeper"] * 2


async def test_closed_authorizer_rejects_changes() -> None:
    store = HeldStore()
    authorizer = await started(store=store)
    creating = asyncio.create_task(authorizer.create_acls(request_of("root"), [A]))
    await store.begun()

    authorizer.close()
    (refused,) = await authorizer.create_acls(request_of("root"), [B])
    await store.deliver()

    assert refused.error is not None
    assert refused.error.code is ErrorCode.NOT_CONTROLLER
    assert await creating == [AclCreateResult()]


async def test_concurrent_requests_are_planned_in_order() -> None:
    store = HeldStore()
    authorizer = await started(store=store)

    first = asyncio.create_task(authorizer.create_acls(None, [A]))
    await store.begun()
    again = asyncio.create_task(authorizer.create_acls(None, [A, B]))
    deleted = asyncio.create_task(authorizer.delete_acls(None, [ANY_BINDING]))
    await settled()
    assert authorizer.acls(ANY_BINDING) == []
    assert not first.done()
    assert not again.done()
    await store.deliver()
    assert await first == [AclCreateResult()]
    assert authorizer.acls(ANY_BINDING) == [A]
    await store.deliver()

    assert await again == [AclCreateResult()] * 2
    assert [each.binding for each in (await deleted)[0].bindings] == [A, B]
    assert store.durable == {}
    changed = [[row.binding for row in change[ACL].set] for change in store.held_changes]
    assert changed == [[A], [B], []]


async def test_unstored_change_changes_nothing() -> None:
    store = HeldStore()
    authorizer = await started(A, store=store)
    bad = A._replace(pattern=topic(""))
    creating = asyncio.create_task(authorizer.create_acls(None, [A, bad]))
    await store.fail(StorageError("disk full"))
    failed, refused = await creating
    again = asyncio.create_task(authorizer.create_acls(None, [A]))
    await store.deliver()
    filters = [ANY_BINDING, wanted(ResourceType.UNKNOWN)]
    deleting = asyncio.create_task(authorizer.delete_acls(None, filters))
    await store.fail(StorageError("disk full"))
    kept, unknown = await deleting

    assert [each.error and each.error.code for each in (failed, kept, refused, unknown)] == [
        *[ErrorCode.KAFKA_STORAGE_ERROR] * 2,
        *[ErrorCode.INVALID_REQUEST] * 2,
    ]
    assert str(failed.error).startswith("The ACLs are as they were: ")
    assert kept.bindings == ()
    assert await again == [AclCreateResult()]
    assert authorizer.acls(ANY_BINDING) == [A]


async def test_rejected_items_need_no_store() -> None:
    store = HeldStore()
    authorizer = await started(store=store)
    bad = A._replace(pattern=topic(""))
    held = asyncio.create_task(authorizer.create_acls(None, [A]))
    await store.begun()

    (created,) = await authorizer.create_acls(None, [bad])
    (deleted,) = await authorizer.delete_acls(None, [wanted(ResourceType.UNKNOWN)])

    assert created.error is not None
    assert deleted.error is not None
    await store.deliver()
    assert await held == [AclCreateResult()]


async def test_excessive_request_rejects_every_item(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doorkeeper.server.authorizer.standard.ACLS_PER_REQUEST_MAX", 2_500)
    authorizer = await started()
    bindings = [allow("alice", READ, topic(f"t{number}")) for number in range(2_501)]

    created = await authorizer.create_acls(None, [A._replace(pattern=topic("")), *bindings])
    await authorizer.create_acls(None, bindings[:1_251])
    await authorizer.create_acls(None, bindings[1_250:])
    deleted = await authorizer.delete_acls(None, [wanted(name="none"), ANY_BINDING])

    assert {each.error and each.error.code for each in created} == {ErrorCode.POLICY_VIOLATION}
    assert [each.error and each.error.code for each in deleted] == [ErrorCode.INVALID_REQUEST] * 2
    assert authorizer.acl_count() == 2_501


async def test_change_cancelled_before_planning_is_withdrawn() -> None:
    store = HeldStore()
    authorizer = await started(store=store)
    written = asyncio.create_task(authorizer.create_acls(None, [A]))
    await store.begun()
    waiting = asyncio.create_task(authorizer.create_acls(None, [B]))
    await settled()

    for change in (written, waiting):
        change.cancel()
    await store.deliver()
    await settled()

    assert authorizer.acls(ANY_BINDING) == [A]


async def test_acl_without_effect_is_stored_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = HeldStore()
    authorizer = await started(store=store)
    strange = allow("alice", AclOperation.CREATE_TOKENS, topic("a"))
    with caplog.at_level(logging.INFO, "doorkeeper.authorizer"):
        creating = asyncio.create_task(authorizer.create_acls(request_of("root"), [strange, A]))
        await store.begun()
        assert caplog.records == []
        await store.deliver()
        await creating

    assert authorizer.acls(ANY_BINDING) == [strange, A]
    (record,) = caplog.records
    assert record.name == "doorkeeper.authorizer"
    assert record.getMessage().startswith("the ACL ALLOW CREATE_TOKENS for User:alice on TOPIC")


@pytest.mark.parametrize(
    ("operation", "resource_type", "text"),
    [
        (READ, ResourceType.ANY, "Must specify a non-filter resource type"),
        (READ, ResourceType.UNKNOWN, "Unknown resource type"),
        (AclOperation.ANY, ResourceType.TOPIC, "Must specify a non-filter operation type"),
        (AclOperation.UNKNOWN, ResourceType.TOPIC, "Unknown operation type"),
    ],
)
async def test_resource_type_check_rejects_filter_values(
    operation: AclOperation, resource_type: ResourceType, text: str
) -> None:
    authorizer = await started(A)

    with pytest.raises(ValueError, match=f"^{text}"):
        authorizer.authorize_by_resource_type(request_of("alice"), operation, resource_type)


@pytest.mark.parametrize("open_to_all", ["true", "false"])
@pytest.mark.parametrize("user", ["alice", "bob", "root"])
async def test_masks_match_single_checks(user: str, open_to_all: str) -> None:
    no_writing = deny("alice", WRITE, topic("orders"))
    bindings = (A, B, no_writing, allow("User:*", READ, topic("or", PREFIXED)))
    resources = [topic("orders"), topic("bills"), topic("other"), group("readers")]
    audit = CollectedAuthorizerLog(TRACE)
    quiet = await started(
        *bindings, super__users="User:root", allow__everyone__if__no__acl__found=open_to_all
    )
    heard = await started(
        *bindings,
        authorizer_log=audit,
        super__users="User:root",
        allow__everyone__if__no__acl__found=open_to_all,
    )

    masks = quiet.authorized_operations(request_of(user), resources)

    assert masks == heard.authorized_operations(request_of(user), resources)
    assert {level for level, _ in audit.lines} == {TRACE}
    assert len(audit.lines) == 8 * 3 + 5
    with pytest.raises(ValueError, match="Only literal"):
        heard.authorized_operations(request_of(user), [topic("or", PREFIXED)])


async def test_stale_state_denies_everything() -> None:
    audit, alice = CollectedAuthorizerLog(), request_of("alice")
    authorizer = await started(A, authorizer_log=audit)
    authorizer.reconfigure({"super.users": "User:root", "allow.everyone.if.no.acl.found": "true"})
    actions = [to(READ, topic("aa")), to(READ, topic("elsewhere"))]
    allowed = authorizer.authorize(alice, actions)

    authorizer._state_log.amend(stale=True)

    assert allowed == [ALLOWED, ALLOWED]
    audit.lines.clear()
    assert authorizer.authorize(alice, actions) == [DENIED, DENIED]
    lines = [(level, line.endswith("based on rule DefaultDeny")) for level, line in audit.lines]
    assert lines == [(INFO, True)] * 2
    assert authorizer.authorize(request_of("root"), actions) == [ALLOWED, ALLOWED]
    assert authorizer.authorized_operations(alice, [topic("aa")]) == [0]
    by_type = authorizer.authorize_by_resource_type(alice, READ, ResourceType.TOPIC)
    assert by_type is DENIED
    authorizer._state_log.amend(stale=False)
    assert authorizer.authorize(alice, actions) == allowed
