"""What takes new values of its keys while the server runs: an authorizer that wants to.

An authorizer that is also ``Reconfigurable`` hears of every change of the keys it names, whether
somebody edited the file and sent SIGHUP, or changed a value through IncrementalAlterConfigs:

    validate_reconfiguration(configs)   all keys as they would be; raise ValueError to refuse them
    reconfigure(configs)                the same keys, once they are kept: use them

Both get every key of the server, as ``configure`` did. They are called from the loop's thread, only
when a key that ``reconfigurable_configs`` names has changed. Between the two nothing else is
decided about the keys; what is refused changes nothing, for nobody.

Source: ``org.apache.kafka.common.Reconfigurable``, ``DynamicBrokerConfig`` (4.3.1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Reconfigurable(ABC):
    """Takes new values of some keys without a restart."""

    @abstractmethod
    def reconfigurable_configs(self) -> set[str]:
        """Return the names of the keys; keys that only you know may be among them."""

    @abstractmethod
    def validate_reconfiguration(self, configs: Mapping[str, str]) -> None:
        """Check the values, change nothing.

        Raises:
            ValueError: a value is wrong. Whoever asked reads the text: it names the key, what was
                found and what is allowed, and holds no secret.

        """

    @abstractmethod
    def reconfigure(self, configs: Mapping[str, str]) -> None:
        """Use the values, which ``validate_reconfiguration`` has accepted."""
