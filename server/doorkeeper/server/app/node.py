"""The node as handlers see it, what connections may change, and the other nodes of its store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.base.uuids import random_octets
from doorkeeper.server.api import registry
from doorkeeper.server.api.node import AuthorizerReads
from doorkeeper.server.authorizer.standard import OneState
from doorkeeper.server.config.kafka_versions import TEST_API_VERSIONS
from doorkeeper.server.config.keys import BROKER_RACK, CLIENTS_JOIN_GROUP
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.config.store_keys import (
    BROKER_HEARTBEAT_INTERVAL_MS,
    BROKER_SESSION_TIMEOUT_MS,
)
from doorkeeper.server.net.server import OPERATOR_LISTENER
from doorkeeper.server.resources.cluster import Broker, Group, Member
from doorkeeper.server.resources.policies.guard import Policies
from doorkeeper.server.resources.topics.table import Topics
from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.outcome import not_stored
from doorkeeper.server.state.state import State
from doorkeeper.server.state.store import StorageError

if TYPE_CHECKING:
    from doorkeeper.server.api.acl_rows import AclRows
    from doorkeeper.server.api.node import AuthorizerUpdates
    from doorkeeper.server.app.delegation_tokens import DelegationTokens
    from doorkeeper.server.config.listeners import Listener
    from doorkeeper.server.operations.logs.pipeline import Logger
    from doorkeeper.server.resources.tokens import Tokens
    from doorkeeper.server.state.postgres.membership import Membership
    from doorkeeper_wire.messages.api_versions import ApiVersion

OPERATOR_ADDRESS = ("localhost", 1)
"""The advertised address inside the process; nothing listens there."""


class LiveNode:
    """One node. Without others it is the controller and the only broker; see ``use_others``.

    Its data is that of the log's state, except the settings and its addresses: if these change, the
    log publishes its state as another object, because caches compare states by identity.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        log: StateLog,
        authorizer: AuthorizerReads | None,
        tokens: Tokens,
        random_bytes: Callable[[int], bytes],
        now_ms: Callable[[], int],
        policies: Policies | None = None,
    ) -> None:
        """``advertise`` adds the addresses when the ports are bound."""
        self.settings = settings
        """Replaced by settings that differ only in reloadable keys."""
        self.apis = registry.apis(optional=settings[CLIENTS_JOIN_GROUP])
        """The APIs that this node serves."""
        cap = settings[TEST_API_VERSIONS]
        if cap:
            self.apis = self.apis.capped(cap)
        self.node_id = settings.node_id
        self.controller_id = settings.node_id
        """The lowest id of all live nodes."""
        self.cluster_id = log.cluster_id
        self.authorizer = authorizer
        """None if no authorizer is configured."""
        self.tokens = tokens
        self.policies = Policies() if policies is None else policies
        """The policies of topics and configurations."""
        self.acl_rows: AclRows | None = None
        """Encoded rows of ACLs for DescribeAcls, with an authorizer that has a snapshot."""
        self._log = log
        self._random_bytes = random_bytes
        self.now_ms = now_ms
        self._brokers: dict[str, tuple[Broker, ...]] = {}
        self._own: dict[str, Broker] = {}

    @property
    def coordinator_id(self) -> int:
        """Return the node that serves groups: the controller."""
        return self.controller_id

    @property
    def groups(self) -> Mapping[str, Group]:
        """Return the groups that are joined or have offsets; empty if another node serves them."""
        if self.coordinator_id != self.node_id:
            return {}
        return self._log.state.groups

    @property
    def state(self) -> State:
        return self._log.state

    @property
    def topics(self) -> Topics:
        return self._log.state.topics

    def at_one_state(
        self,
        authorizer: AuthorizerReads | None,
        on_loop: Callable[[object], Any],
    ) -> LiveNode:
        """Return a copy for another thread: with the present state for ever, and this authorizer.

        Policies, which may be plug-ins, are still called on the event loop.
        """
        other = copy(self)
        other._log = cast("StateLog", OneState(self._log.state))  # noqa: SLF001  of its own class
        other.authorizer = authorizer
        other.policies = on_loop(self.policies)
        return other

    def for_operator(self, authorizer: AuthorizerReads | None) -> LiveNode:
        """Return a copy for the connection of single-user mode, whose only broker is this node."""
        other = copy(self)
        other.authorizer = authorizer
        broker = Broker(self.node_id, *OPERATOR_ADDRESS, None)
        other._brokers = {OPERATOR_LISTENER: (broker,)}  # noqa: SLF001  of its own class
        return other

    def brokers(self, listener_name: str) -> Sequence[Broker]:
        """Return the live nodes that have the listener, with their advertised addresses, by id."""
        every = self._brokers.get(listener_name, ())
        return tuple(broker for broker in every if not broker.is_fenced)

    def registered_brokers(self, listener_name: str) -> Sequence[Broker]:
        """Return the live nodes and the fenced ones that have the listener, by id."""
        return self._brokers.get(listener_name, ())

    def use_others(self, members: Iterable[Member]) -> None:
        """Use a new list of registered nodes, with or without this one."""
        members = tuple(members)
        live = (member.node_id for member in members if not member.is_fenced)
        self.controller_id = min((self.node_id, *live))
        self._brokers = {name: brokers_of(name, own, members) for name, own in self._own.items()}
        self._log.amend(members=members)

    def as_member(self, secret: bytes) -> Member:
        """Return this node for others; ``secret`` is the token secret's fingerprint, or empty."""
        addresses = {name: (own.host, own.port) for name, own in self._own.items()}
        return Member(self.node_id, addresses, self.settings[BROKER_RACK], secret.hex())

    def api_ranges(self, *, controller: bool) -> Sequence[ApiVersion]:
        """Return the APIs that ApiVersions lists on such a listener."""
        return self.apis.ranges(controller=controller)

    def new_topic_id(self) -> bytes:
        return random_octets(self._random_bytes)

    def new_producer_id(self) -> int:
        """Return a random number of 63 bits: Java's long is not negative then."""
        return int.from_bytes(self._random_bytes(8)) >> 1

    def advertise(self, listener: Listener, port: int, host_name: str) -> Broker:
        """Use the bound port of a listener; return its advertised address.

        ``host_name`` is this machine's name, for listeners on all interfaces.
        """
        broker = Broker(
            self.node_id,
            listener.advertised_host or host_name,
            listener.advertised_port or port,
            self.settings[BROKER_RACK],
        )
        self._own[listener.name] = broker
        members = self._log.state.members
        self._brokers[listener.name] = brokers_of(listener.name, broker, members)
        self._log.amend()
        return broker


class NodeServices:
    """What connections may change: by the state log, the tokens and the authorizer."""

    alter_configs: Callable[..., Coroutine[Any, Any, list[ApiError | None]]]
    """That of ``ConfigChanges``, which are there when the edge exists."""

    def __init__(
        self,
        log: StateLog,
        tokens: DelegationTokens,
        authorizer: AuthorizerUpdates | None,
        update_timeout_s: float,
    ) -> None:
        self.log = log
        self.tokens = tokens
        self.authorizer = authorizer
        self.update_timeout_s = update_timeout_s
        self.membership: Membership | None = None
        """None with an embedded store."""

    async def resolvable(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if await _resolves(name)]

    async def unregister_broker(self, node_id: int) -> None:
        try:
            is_registered = self.membership is not None and await self.membership.unregister(
                node_id
            )
        except StorageError as error:
            raise not_stored(error) from error
        if not is_registered:
            text = f"Broker ID {node_id} is not currently registered"
            raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, text)


async def _resolves(name: str) -> bool:
    try:
        await asyncio.get_running_loop().getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return False
    return True


def brokers_of(listener_name: str, own: Broker, members: Iterable[Member]) -> tuple[Broker, ...]:
    """Return the registered nodes that have a listener, by id, with ``own`` for this one."""
    others = (
        Broker(member.node_id, *member.addresses[listener_name], member.rack, member.fenced_ms)
        for member in members
        if listener_name in member.addresses and member.node_id != own.node_id
    )
    # This node's row in the store may be older than its own data.
    return tuple(sorted((own, *others), key=lambda broker: broker.node_id))


def membership_of(
    node: LiveNode, store_id: str, tokens: DelegationTokens, log: Logger
) -> Membership | None:
    """Return the membership of the node in its shared store; None with an embedded store.

    Raises:
        StorageError: the driver is missing, or a TLS file is unusable.
    """
    settings = node.settings
    if settings.store is None:
        return None
    # The driver is needed only with a shared store.
    from doorkeeper.server.state.postgres.connecting import connector
    from doorkeeper.server.state.postgres.membership import Membership, check_store

    # A node must find the live host of the database before its own session expires.
    most_ms = max(1, settings[BROKER_SESSION_TIMEOUT_MS] // 3)
    store = replace(
        settings.store, connect_timeout_ms=min(settings.store.connect_timeout_ms, most_ms)
    )
    return Membership(
        partial(connector(store), partial(check_store, store_id=store_id)),
        lambda: node.as_member(tokens.fingerprint),
        node.use_others,
        interval_s=settings[BROKER_HEARTBEAT_INTERVAL_MS] / 1000,
        timeout_s=settings[BROKER_SESSION_TIMEOUT_MS] / 1000,
        log=log,
    )
