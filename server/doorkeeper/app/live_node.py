"""The node as its handlers see it, with the addresses that clients dial."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper import registry
from doorkeeper.node import Broker, Member

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from doorkeeper.app.credential_changes import CredentialChanges
    from doorkeeper.app.topic_changes import TopicChanges
    from doorkeeper.config.listeners import Listener
    from doorkeeper.config.settings import Settings
    from doorkeeper.delegation_tokens import TokenReads
    from doorkeeper.node import AclRows, ApiRange, AuthorizerReads, Group
    from doorkeeper.scram_users import ScramUsers
    from doorkeeper.topics import Topics

_HYPHEN = 62
"""The value of ``-`` in URL-safe base64."""


class LiveNode:
    """One node. Alone it is its own controller and the only broker; else see ``use_others``."""

    def __init__(
        self,
        *,
        settings: Settings,
        cluster_id: str,
        authorizer: AuthorizerReads | None,
        topic_changes: TopicChanges,
        credential_changes: CredentialChanges,
        tokens: TokenReads,
        groups: Mapping[str, Group],
        random_bytes: Callable[[int], bytes],
    ) -> None:
        """Begin without addresses: ``advertise`` gives them when the ports are bound."""
        self._settings = settings
        self._cluster_id = cluster_id
        self._authorizer = authorizer
        self._topic_changes = topic_changes
        self._credential_changes = credential_changes
        self._groups = groups
        self.tokens = tokens
        self._random_bytes = random_bytes
        self._brokers: dict[str, tuple[Broker, ...]] = {}
        self._own: dict[str, Broker] = {}
        self.acl_rows: AclRows | None = None
        """Rows of ACLs that are kept encoded, where somebody keeps them."""
        self._others: tuple[Member, ...] = ()
        self._lowest_id = settings.node_id

    @property
    def node_id(self) -> int:
        """Return this node's id."""
        return self._settings.node_id

    @property
    def cluster_id(self) -> str:
        """Return the 22 characters that name the cluster."""
        return self._cluster_id

    @property
    def controller_id(self) -> int:
        """Return the lowest id of all nodes that live."""
        return self._lowest_id

    @property
    def coordinator_id(self) -> int:
        """Return the id of the node that shows groups: the controller."""
        return self.controller_id

    @property
    def groups(self) -> Mapping[str, Group]:
        """Return the groups of the catalog; none where another node shows them."""
        return self._groups if self.coordinator_id == self.node_id else {}

    @property
    def authorizer(self) -> AuthorizerReads | None:
        """Return who decides; None where no authorizer is configured."""
        return self._authorizer

    @property
    def topics(self) -> Topics:
        """Return all topics that are durable."""
        return self._topic_changes.topics

    @property
    def scram_users(self) -> ScramUsers:
        """Return everyone with SCRAM credentials that are durable."""
        return self._credential_changes.users

    @property
    def settings(self) -> Settings:
        """Return the configuration."""
        return self._settings

    def replace_settings(self, settings: Settings) -> None:
        """Take a configuration of which only what can be reloaded has changed."""
        self._settings = settings

    def brokers(self, listener_name: str) -> Sequence[Broker]:
        """Return all nodes that have the listener, with the addresses they advertise, by id."""
        return self._brokers[listener_name]

    def told_from(self, listener_name: str) -> tuple[object, ...]:
        """Return what the properties above are made from: while it stays equal, so do they.

        All of it at once, and not by their names: each repeated request asks.
        """
        return (
            self._topic_changes.topics,
            self._groups,
            self._settings,
            self._brokers[listener_name],
            self._lowest_id,
        )

    def is_advertised(self, listener_name: str) -> bool:
        """Say whether the listener's address is known by now."""
        return listener_name in self._brokers

    def use_groups(self, groups: Mapping[str, Group]) -> None:
        """Take the groups of a catalog that was read anew."""
        self._groups = groups

    def use_others(self, others: Iterable[Member]) -> None:
        """Take the other nodes that live."""
        self._others = tuple(each for each in others if each.node_id != self.node_id)
        self._lowest_id = min((self.node_id, *(each.node_id for each in self._others)))
        self._brokers = {name: self._listed(name, own) for name, own in self._own.items()}

    def _listed(self, listener_name: str, own: Broker) -> tuple[Broker, ...]:
        others = (
            Broker(each.node_id, *each.addresses[listener_name], each.rack)
            for each in self._others
            if listener_name in each.addresses
        )
        return tuple(sorted((own, *others), key=lambda broker: broker.node_id))

    def as_member(self, secret: bytes) -> Member:
        """Return this node as others shall know it; ``secret`` is a fingerprint, or empty."""
        addresses = {name: (own.host, own.port) for name, own in self._own.items()}
        return Member(self.node_id, addresses, self._settings.broker_rack, secret.hex())

    def api_ranges(self, *, controller: bool) -> Sequence[ApiRange]:
        """Return what ApiVersions lists on a listener of this kind."""
        return registry.api_ranges(
            controller=controller, optional=self._settings.clients_join_group
        )

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
            self._settings.broker_rack,
        )
        self._own[listener.name] = broker
        self._brokers[listener.name] = self._listed(listener.name, broker)
        return broker
