"""A node for handlers: real settings, a real authorizer with its log, real topics and groups.

node = await node_of(allow("alice", READ, topic("orders")), topics=[declared("orders")])
answer(metadata.API, MetadataRequest(...), node, version=12, user="alice")
"""

from __future__ import annotations

import re
from hashlib import sha256
from itertools import count
from typing import TYPE_CHECKING, Any

from doorkeeper.acls.model import CLUSTER_NAME, PatternType, ResourcePattern, ResourceType
from doorkeeper.base.errors import ApiError
from doorkeeper.server.api import registry
from doorkeeper.server.resources.cluster import Broker, Group, GroupMember
from doorkeeper.server.resources.policies.guard import Policies
from doorkeeper.server.resources.topics.placement import text_of
from doorkeeper.server.resources.topics.table import Topics
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext, RequestContext
from doorkeeper.server.schema.declared import StoredTopic
from doorkeeper.server.state.state import EMPTY
from testkit.acl import request_of
from testkit.authorizers import CollectedAuthorizerLog, started
from testkit.settings import settings_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.server.api.acl_rows import AclRows
    from doorkeeper.server.api.declaration import Api
    from doorkeeper.server.api.node import AuthorizerReads
    from doorkeeper.server.authorizer.contract import Authorizer
    from doorkeeper.server.config.settings import Settings
    from doorkeeper.server.resources.tokens import SignedToken, TokenWish
    from doorkeeper_wire.messages.api_versions import ApiVersion

CLUSTER = ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL)
CLUSTER_ID = "Sme7FWb4QrOTXBzRGIxEOw"
ADMIN = "admin"
"""A super user."""


class HandTokens:
    """The delegation tokens that a test gives; without ``enabled`` there is no secret."""

    def __init__(self) -> None:
        self.is_enabled = True
        self.given: list[SignedToken] = []

    def signed_tokens(self) -> Iterable[SignedToken]:
        return self.given

    async def change(self, wish: TokenWish, context: RequestContext) -> SignedToken:
        raise AssertionError("handlers change tokens by their services")


class ANode:
    """A node whose parts a test may replace."""

    def __init__(
        self,
        authorizer: Authorizer | None,
        settings: Settings,
        audit: CollectedAuthorizerLog,
        topics: Topics,
        groups: Mapping[str, Group],
    ) -> None:
        self.node_id = 1
        self.state = EMPTY
        self.cluster_id = CLUSTER_ID
        self.controller_id = 1
        self.coordinator_id = 1
        self.authorizer = authorizer
        self.settings = settings
        self.audit = audit
        self.topics = topics
        self.groups = groups
        self.listed: Sequence[Broker] = (Broker(1, "broker.example", 9092, "rack-a"),)
        self.controllers: Sequence[Broker] = (Broker(1, "broker.example", 9093, "rack-a"),)
        self.tokens = HandTokens()
        self.time_ms = 1_700_000_000_000
        self.policies = Policies()
        self._ids = count(1000)
        self.acl_rows: AclRows | None = None

    def brokers(self, listener_name: str) -> Sequence[Broker]:
        return [each for each in self.registered_brokers(listener_name) if not each.is_fenced]

    def registered_brokers(self, listener_name: str) -> Sequence[Broker]:
        if listener_name in self.settings.controller_listener_names:
            return self.controllers
        assert listener_name == "PLAINTEXT"
        return self.listed

    def at_one_state(
        self,
        authorizer: AuthorizerReads | None,
        on_loop: Callable[[object], Any],
    ) -> ANode:
        """Return the node: a test has no other thread."""
        return self

    def now_ms(self) -> int:
        return self.time_ms

    def new_topic_id(self) -> bytes:
        return next(self._ids).to_bytes(16, "big")

    def new_producer_id(self) -> int:
        return next(self._ids)

    def api_ranges(self, *, controller: bool) -> Sequence[ApiVersion]:
        return registry.apis().ranges(controller=controller)

    def lines(self) -> list[str]:
        """Return what was audited since the last call: level, operation, resource, count."""
        lines = [_brief(level, text) for level, text in self.audit.lines]
        self.audit.lines.clear()
        return lines


_LINE = re.compile(
    r"is (\w+) operation = (\w+) from host = .* on resource = (.*) for request = \w+"
    r" with resourceRefCount = (\d+)"
)
_LEVELS = {5: "TRACE", 10: "DEBUG", 20: "INFO"}


def _brief(level: int, text: str) -> str:
    found = _LINE.search(text)
    assert found is not None
    return " ".join((_LEVELS[level], *found.groups()))


async def node_of(
    *bindings: AclBinding,
    topics: Iterable[StoredTopic] = (),
    groups: Iterable[Group] = (),
    properties: str = "",
    secured: bool = True,
) -> ANode:
    """Return a node that holds these ACLs; ``secured=False`` leaves the authorizer out."""
    audit = CollectedAuthorizerLog()
    authorizer = None
    if secured:
        authorizer = await started(*bindings, authorizer_log=audit, super__users=f"User:{ADMIN}")
    return ANode(
        authorizer,
        settings_of(properties),
        audit,
        Topics.of(topics),
        {group.group_id: group for group in groups},
    )


def brokers_of(*node_ids: int, fenced: Iterable[int] = ()) -> list[Broker]:
    """Return brokers, of which those of ``fenced`` left in this order."""
    times = {node_id: number for number, node_id in enumerate(fenced)}
    every = sorted((*node_ids, *times))
    return [Broker(node_id, "host", 9092, None, times.get(node_id)) for node_id in every]


def a_topic(name: str, partitions: int = 1, **fields: Any) -> StoredTopic:
    """Return a topic that was made over the wire."""
    values: dict[str, Any] = {"replication_factor": 1, "configs": {}, **fields}
    values["assignments"] = tuple(map(text_of, values.get("assignments", ())))
    return StoredTopic(name, sha256(name.encode()).digest()[:16], partitions, **values)


def a_group(group_id: str, state: str = "Stable", **fields: Any) -> Group:
    """Return a classic group of one member."""
    member = GroupMember("m-1", None, "client-1", "/10.0.0.7", b"wants", b"has")
    values: dict[str, Any] = {
        "group_type": "classic",
        "protocol_type": "consumer",
        "protocol": "range",
        "members": (member,),
        **fields,
    }
    return Group(group_id, state, **values)


def context_of(
    api: Api, version: int, user: str = ADMIN, *, controller: bool = False
) -> RequestContext:
    """Return the circumstances of a request."""
    asked = request_of(user, api_key=api.key)
    authorizable = AuthorizableRequestContext(
        **{**asked._asdict(), "request_version": version, "request_type": api.key}
    )
    return RequestContext(authorizable, "Request(described)", controller)


def outcome(
    api: Api,
    request: Any,
    node: ANode,
    version: int,
    user: str = ADMIN,
    *,
    controller: bool = False,
) -> Any:
    """Return what the handler returns, or its refusal, as a connection would."""
    assert isinstance(request, api.request)
    request, _ = api.request.decode(request.encode(version), 0, version)
    try:
        return api.handle(request, context_of(api, version, user, controller=controller), node)
    except ApiError as error:
        return api.refuse(request, version, error)


def answer(
    api: Api,
    request: Any,
    node: ANode,
    version: int,
    user: str = ADMIN,
    *,
    controller: bool = False,
) -> Any:
    """Return the answer as it arrives: encoded and decoded again in the version."""
    return on_the_wire(outcome(api, request, node, version, user, controller=controller), version)


def on_the_wire(response: Any, version: int) -> Any:
    """Return what is left of a response after its way to the client."""
    decoded, end = type(response).decode(response.encode(version), 0, version)
    assert end == len(response.encode(version))
    return decoded


def arguments(update: Any) -> tuple[Any, ...]:
    """Return what the coroutine of an update is given, but for the services."""
    found: tuple[Any, ...] = update.apply.args
    return found
