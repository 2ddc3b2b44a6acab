"""What a policy is given, and what it must have.

Source: ``CreateTopicPolicy`` and ``AlterConfigPolicy`` of ``org.apache.kafka.server.policy``
(4.3.1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from doorkeeper.base.errors import ApiError, ErrorCode


class PolicyViolation(ApiError):
    """A refusal by a policy: POLICY_VIOLATION (44) with the message for the client."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(ErrorCode.POLICY_VIOLATION, message)


class TopicCreation(NamedTuple):
    """A topic that shall be created.

    Either ``num_partitions`` and ``replication_factor`` are numbers, with the server's defaults
    filled in, or ``replicas_assignments`` has the brokers of each partition; the others are None.
    ``configs`` are those of the request.
    """

    topic: str
    num_partitions: int | None
    replication_factor: int | None
    replicas_assignments: Mapping[int, Sequence[int]] | None
    configs: Mapping[str, str]


class ConfigResourceType(IntEnum):
    """The codes of the protocol."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigAlteration(NamedTuple):
    """Changes of a resource's configuration.

    ``configs`` are the new values of the keys that change; None removes a value. Keys that a legacy
    AlterConfigs resets by leaving them out are not among them, as on a broker.
    """

    resource_type: ConfigResourceType
    resource_name: str
    configs: Mapping[str, str | None]


class _Policy(ABC):  # noqa: B024 - the subclasses differ in what they validate
    def configure(self, configs: Mapping[str, str]) -> None:
        """Take every key of the server's configuration, as text.

        Raises:
            ValueError: a key is wrong; the text begins with the key. The server does not start.
        """

    def close(self) -> None:
        """Release what the policy holds; called once, when the server stops."""


class CreateTopicPolicy(_Policy):
    """Decides which topics may be created. Methods run on the event loop and must not wait."""

    @abstractmethod
    def validate(self, request: TopicCreation) -> None:
        """Accept a topic by returning.

        Raises:
            PolicyViolation: it must not be created.
        """


class AlterConfigPolicy(_Policy):
    """Decides which configuration may be set. Methods run on the event loop and must not wait."""

    @abstractmethod
    def validate(self, request: ConfigAlteration) -> None:
        """Accept a change by returning. The request must not be logged: it may hold passwords.

        Raises:
            PolicyViolation: it must not be made.
        """
