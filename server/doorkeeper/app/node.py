"""The node as its handlers see it, its advertised addresses, and the other nodes of its store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.cluster.model import Broker, Member
from doorkeeper.handlers import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from doorkeeper.api.node import AclRows, ApiRange, AuthorizerReads
    from doorkeeper.cluster.model import Group
    from doorkeeper.config.listeners import Listener
    from doorkeeper.config.settings import Settings
    from doorkeeper.logs.pipeline import Logger
    from doorkeeper.state.log import StateLog
    from doorkeeper.state.state import State
    from doorkeeper.storage.postgres.membership import Membership
    from doorkeeper.tokens.model import TokenReads
    from doorkeeper.topics.table import Topics
    from doorkeeper.updates.tokens import Tokens
    from doorkeeper.users.table import ScramUsers

_HYPHEN = 62
"""The value of ``-`` in URL-safe base64."""


class LiveNode:
    """One node. Alone it is its own controller and the only broker; else see ``use_others``.

    What it shows is that of the log's state, but for the settings and its own addresses: where
    these change, the log publishes its state as another object.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        log: StateLog,
        authorizer: AuthorizerReads | None,
        tokens: TokenReads,
        random_bytes: Callable[[int], bytes],
    ) -> None:
        """Begin without addresses: ``advertise`` gives them when the ports are bound."""
        self.settings = settings
        """The configuration."""
        self.node_id = settings.node_id
        self.controller_id = settings.node_id
        """The lowest id of all nodes that live."""
        self.cluster_id = log.cluster_id
        """The 22 characters that name the cluster."""
        self.authorizer = authorizer
        """None where no authorizer is configured."""
        self.tokens = tokens
        self.acl_rows: AclRows | None = None
        """Rows of ACLs that are kept encoded, where there are any."""
        self._log = log
        self._random_bytes = random_bytes
        self._brokers: dict[str, tuple[Broker, ...]] = {}
        self._own: dict[str, Broker] = {}

    @property
    def coordinator_id(self) -> int:
        """Return the id of the node that shows groups: the controller."""
        return self.controller_id

    @property
    def groups(self) -> Mapping[str, Group]:
        """Return the groups of the catalog; none where another node shows them."""
        return self._log.state.groups if self.coordinator_id == self.node_id else {}

    @property
    def state(self) -> State:
        """Return everything that the node serves, at one revision."""
        return self._log.state

    @property
    def topics(self) -> Topics:
        """Return all topics that are durable."""
        return self._log.state.topics

    @property
    def scram_users(self) -> ScramUsers:
        """Return everyone with SCRAM credentials that are durable."""
        return self._log.state.credentials

    def replace_settings(self, settings: Settings) -> None:
        """Take a configuration of which only what can be reloaded has changed."""
        self.settings = settings
        self._log.amend()

    def brokers(self, listener_name: str) -> Sequence[Broker]:
        """Return all nodes that have the listener, with the addresses they advertise, by id."""
        return self._brokers[listener_name]

    @property
    def version(self) -> object:
        """Return what all of the above is made from: while it is the same object, so is that."""
        return self._log.state

    def is_advertised(self, listener_name: str) -> bool:
        """Say whether the listener's address is known by now."""
        return listener_name in self._brokers

    def use_others(self, members: Iterable[Member]) -> None:
        """Take the nodes that live, this one among them or not."""
        members = tuple(members)
        self.controller_id = min((self.node_id, *(each.node_id for each in members)))
        self._brokers = {name: listed(name, own, members) for name, own in self._own.items()}
        self._log.amend(members=members)

    def as_member(self, secret: bytes) -> Member:
        """Return this node as others shall know it; ``secret`` is a fingerprint, or empty."""
        addresses = {name: (own.host, own.port) for name, own in self._own.items()}
        return Member(self.node_id, addresses, self.settings.broker_rack, secret.hex())

    def api_ranges(self, *, controller: bool) -> Sequence[ApiRange]:
        """Return what ApiVersions lists on a listener of this kind."""
        return registry.api_ranges(controller=controller, optional=self.settings.clients_join_group)

    def new_topic_id(self) -> bytes:
        """Return a random UUID whose text, as Kafka prints it, does not begin with a hyphen.

        Source: ``Uuid.randomUuid``.
        """
        while True:
            drawn = bytearray(self._random_bytes(16))
            if drawn[0] >> 2 != _HYPHEN:
                drawn[6] = drawn[6] & 0x0F | 0x40
                drawn[8] = drawn[8] & 0x3F | 0x80
                return bytes(drawn)

    def advertise(self, listener: Listener, port: int, host_name: str) -> Broker:
        """Take the port that a listener is bound to; return the address that clients dial.

        ``host_name`` is this machine's name, for listeners on all interfaces.
        """
        broker = Broker(
            self.node_id,
            listener.advertised_host or host_name,
            listener.advertised_port or port,
            self.settings.broker_rack,
        )
        self._own[listener.name] = broker
        members = self._log.state.members
        self._brokers[listener.name] = listed(listener.name, broker, members)
        self._log.amend()
        return broker


def listed(listener_name: str, own: Broker, members: Iterable[Member]) -> tuple[Broker, ...]:
    """Return the nodes that have a listener, by id; of this one ``own`` counts."""
    others = (
        Broker(each.node_id, *each.addresses[listener_name], each.rack)
        for each in members
        if listener_name in each.addresses and each.node_id != own.node_id
    )
    return tuple(sorted((own, *others), key=lambda broker: broker.node_id))


def membership_of(
    settings: Settings, node: LiveNode, tokens: Tokens, log: Logger
) -> Membership | None:
    """Return the node's place among those of its shared store; None where the store is its own.

    Raises:
        StorageError: the store cannot be connected to in the way that is configured.

    """
    if settings.store is None:
        return None
    # Who has no shared store need not have its driver.
    from doorkeeper.storage.postgres.connecting import connector  # noqa: PLC0415
    from doorkeeper.storage.postgres.membership import Membership  # noqa: PLC0415

    # A node must have found the host that lives before its own time is up.
    most_ms = max(1, settings.broker_session_timeout_ms // 3)
    store = settings.store.replace(
        connect_timeout_ms=min(settings.store.connect_timeout_ms, most_ms)
    )
    return Membership(
        connector(store),
        lambda: node.as_member(tokens.fingerprint),
        node.use_others,
        interval_s=settings.broker_heartbeat_interval_ms / 1000,
        timeout_s=settings.broker_session_timeout_ms / 1000,
        log=log,
    )
