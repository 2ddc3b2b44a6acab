"""The interface of authorizers that accept new values of their keys without a restart.

A ``Reconfigurable`` authorizer is notified of every change of the keys it names, by SIGHUP after an
edit of the file, or by IncrementalAlterConfigs:

    validate_reconfiguration(configs)   all keys with their new values; raise ValueError to reject
    reconfigure(configs)                the same keys, once they are stored: apply them

Both get every key of the server, like ``configure``. They are called from the loop's thread, and
only if a key of ``reconfigurable_configs`` has changed. No other change of the keys comes between
the two; a rejected change has no effect.

Source: ``org.apache.kafka.common.Reconfigurable``, ``DynamicBrokerConfig`` (4.3.1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping


class Reconfigurable(ABC):
    """Accepts new values of some keys without a restart."""

    @abstractmethod
    def reconfigurable_configs(self) -> set[str]:
        """Return the names of the keys; they may include keys unknown to the server."""

    @abstractmethod
    def validate_reconfiguration(self, configs: Mapping[str, str]) -> None:
        """Check the values without applying them.

        Raises:
            ValueError: a value is wrong. The client sees the text: it names the key, what
                was found and what is allowed, and contains no secret.
        """

    @abstractmethod
    def reconfigure(self, configs: Mapping[str, str]) -> None:
        """Apply the values, which ``validate_reconfiguration`` has accepted."""
