"""doorkeeper.net.beginning: who is asked to make an update."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from doorkeeper.authorizer.contract import AclCreateResult, AclDeleteResult
from doorkeeper.authorizer.guard import GuardedAuthorizer
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.exchange import UPDATES, Update
from doorkeeper.net.beginning import SERVED, begun, count_of
from doorkeeper.node import (
    AlterConfigs,
    AlterCredentials,
    AlteredResource,
    ChangeToken,
    ChangeTopics,
    CreateAcls,
    CredentialDeletion,
    DeleteAcls,
    RequestContext,
)
from doorkeeper.storage.contract import StoredTopic
from testkit.acl import READ, allow, request_of, topic, wanted
from testkit.edge import HandAuthorizer, HandServices, done, until

NOTHING: Any = None
BINDING = allow("bob", READ, topic("orders"))
TOPIC = StoredTopic("orders", bytes(16), 1, 1, {})
OUTCOMES: list[tuple[Any, int]] = [
    (CreateAcls(bindings=(BINDING, BINDING), finish=NOTHING), 2),
    (DeleteAcls(filters=(wanted(),), finish=NOTHING), 1),
    (ChangeTopics(created=(TOPIC,), deleted=("a", "b"), finish=NOTHING), 3),
    (
        AlterConfigs(
            resources=(AlteredResource(False, "1", ()),), validate_only=False, finish=NOTHING
        ),
        1,
    ),
    (
        AlterCredentials(
            deletions=(CredentialDeletion("a", 1), CredentialDeletion("a", 2)),
            upsertions=(),
            finish=NOTHING,
        ),
        1,
    ),
    (ChangeToken(wish=NOTHING, finish=NOTHING), 1),
]


def update(outcome: Any) -> Update:
    context = RequestContext(request_of("root"), "", False)
    return Update(outcome, context, NOTHING, NOTHING, NOTHING)


def test_every_update_has_a_count() -> None:
    """The results of each kind of update are counted."""
    assert {outcome.__class__ for outcome, _ in OUTCOMES} == UPDATES
    assert [count_of(outcome) for outcome, _ in OUTCOMES] == [count for _, count in OUTCOMES]


async def test_the_authorizer_is_asked_for_acls() -> None:
    """Items of ACLs are the authorizer's awaitables, one for each."""

    class Asked(HandAuthorizer):
        def delete_acls(self, context: Any, filters: Any) -> Any:
            return [done(AclDeleteResult()) for _ in filters]

    guarded = GuardedAuthorizer(Asked(lambda each: [done(AclCreateResult()) for _ in each]))
    loop = asyncio.get_running_loop()

    created, deleted = (
        begun(update(outcome), HandServices(), guarded, loop) for outcome, _ in OUTCOMES[:2]
    )

    assert list(created.results()) == [AclCreateResult()] * 2
    assert list(deleted.results()) == [AclDeleteResult()]


@pytest.mark.parametrize("outcome", [outcome for outcome, _ in OUTCOMES[:2]])
async def test_without_an_authorizer_acls_cannot_change(outcome: Any) -> None:
    """The error is Kafka's."""
    with pytest.raises(ApiError) as caught:
        begun(update(outcome), HandServices(), None, asyncio.get_running_loop())

    assert caught.value.code is ErrorCode.SECURITY_DISABLED


async def test_the_services_are_asked_for_the_rest() -> None:
    """One awaitable stands for all items; where it fails, each item has the error."""
    error = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)

    async def failing(*_: object) -> Any:
        raise error

    services: Any = HandServices()
    for name in ("change_topics", "alter_configs", "alter_credentials", "change_token"):
        setattr(services, name, failing)
    for outcome, count in OUTCOMES[2:]:
        assert isinstance(outcome, SERVED)
        items = begun(update(outcome), services, None, asyncio.get_running_loop())
        await until(items.done)
        (found,) = items.results()
        assert found == [error] * count
