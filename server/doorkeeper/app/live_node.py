"""The node as its handlers see it, with the addresses that clients dial."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper import registry
from doorkeeper.node import Broker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from doorkeeper.app.credential_changes import CredentialChanges
    from doorkeeper.app.topic_changes import TopicChanges
    from doorkeeper.config.listeners import Listener
    from doorkeeper.config.settings import Settings
    from doorkeeper.delegation_tokens import TokenReads
    from doorkeeper.node import ApiRange, AuthorizerReads, Group
    from doorkeeper.scram_users import ScramUsers
    from doorkeeper.topics import Topics

_HYPHEN = 62
"""The value of ``-`` in URL-safe base64."""


class LiveNode:
    """One node that stands alone: it is its own controller and the only broker."""

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
        self.groups = groups
        self.tokens = tokens
        self._random_bytes = random_bytes
        self._brokers: dict[str, tuple[Broker, ...]] = {}

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
        """Return this node's id: it is its own controller."""
        return self._settings.node_id

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
        """Return this node with the address that it advertises on the listener."""
        return self._brokers[listener_name]

    def is_advertised(self, listener_name: str) -> bool:
        """Say whether the listener's address is known by now."""
        return listener_name in self._brokers

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
        self._brokers[listener.name] = (broker,)
        return broker
