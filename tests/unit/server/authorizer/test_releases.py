"""The authorizer follows the release of its store: creation, decisions, masks, by resource type."""

from __future__ import annotations

from doorkeeper.acls.model import (
    AclOperation,
    PatternType,
    Principal,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.server.authorizer.contract import Action, AuthorizationResult
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext
from doorkeeper.server.schema.change import SERVER as BY_SERVER
from doorkeeper.server.schema.features import release_change
from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.memory import MemoryStore
from testkit.acl import READ, allow, deny, topic
from testkit.authorizers import CLIENTS, SERVER, CollectedAuthorizerLog

ORDERS = ResourcePattern(ResourceType.TOPIC, "orders", PatternType.LITERAL)
NETWORKED = allow("alice", READ, topic("orders"), "10.0.0.0/8")
DENIED = deny("alice", READ, topic("orders"), "10.3.0.0/16")


async def started(release: str) -> tuple[StandardAuthorizer, StateLog]:
    log = StateLog(MemoryStore(release_change(release)))
    authorizer = StandardAuthorizer(authorizer_log=CollectedAuthorizerLog())
    authorizer.attach(log)
    authorizer.configure({})
    await authorizer.start(SERVER)[CLIENTS]
    return authorizer, log


def from_host(host: str) -> AuthorizableRequestContext:
    return AuthorizableRequestContext(
        "L", "PLAINTEXT", Principal("User", "alice"), host, 3, 12, "c", 1
    )


def reads(authorizer: StandardAuthorizer, host: str) -> bool:
    context = from_host(host)
    [result] = authorizer.authorize(context, [Action(READ, ORDERS)])
    by_type = authorizer.authorize_by_resource_type(context, READ, ResourceType.TOPIC)
    [mask] = authorizer.authorized_operations(context, [ORDERS])
    allowed = result is AuthorizationResult.ALLOWED
    assert (by_type is AuthorizationResult.ALLOWED) is allowed
    assert bool(mask & 1 << AclOperation.READ) is allowed
    return allowed


async def test_release_changes_with_unchanged_acls() -> None:
    """Decisions, masks and answers by resource type change together, there and back."""
    authorizer, log = await started("4.3")
    await authorizer.create_acls(None, [NETWORKED, DENIED])
    assert not reads(authorizer, "10.1.2.3")

    await log.submit(lambda _: (release_change("4.4"), None), BY_SERVER)
    assert reads(authorizer, "10.1.2.3")
    assert not reads(authorizer, "10.3.0.1")
    assert not reads(authorizer, "11.0.0.1")

    await log.submit(lambda _: (release_change("4.3"), None), BY_SERVER)
    assert not reads(authorizer, "10.1.2.3")
