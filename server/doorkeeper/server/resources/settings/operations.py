"""Operations of IncrementalAlterConfigs on a value.

Source: ``ConfigurationControlManager.incrementalAlterConfigResource`` (4.3.1).
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.server.config.dynamic_values import DynamicValues


class ConfigOperation(IntEnum):
    """The codes of the protocol."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


OF_LISTS = frozenset({ConfigOperation.APPEND, ConfigOperation.SUBTRACT})


def edit_list(operation: ConfigOperation, current: str, elements: str) -> str:
    """Append the missing elements to a comma-separated list, or remove elements from it."""
    parts = [part.strip() for part in current.split(",")] if current.strip() else []
    # As Java's split: trailing empty elements are dropped, but "" is one empty element.
    split = elements.rstrip(",").split(",") if elements.strip(",") or not elements else []
    for element in map(str.strip, split):
        if operation is ConfigOperation.APPEND:
            if element not in parts:
                parts.append(element)
        elif element in parts:
            parts.remove(element)
    return ",".join(parts)


class Alteration(NamedTuple):
    """A change of one key; ``operation`` is the code of a ``ConfigOperation``."""

    name: str
    operation: int
    value: str | None


GROUP: Final = "group"
CLIENT_METRICS: Final = "client-metrics"


class AlteredResource(Struct, frozen=True):
    """Changes of a topic, a broker, or all brokers if a broker's name is empty.

    With ``replaces`` keys that are not named lose their values. ``stored_type`` is GROUP or
    CLIENT_METRICS for a resource of that type; empty for topics and brokers.
    """

    is_topic: bool
    name: str
    alterations: tuple[Alteration, ...]
    replaces: bool = False
    stored_type: str = ""

    def current_values(self, dynamic: DynamicValues) -> Mapping[str, str]:
        """Return the dynamic values on which the change starts."""
        # AlterConfigs (unlike IncrementalAlterConfigs) resets all keys that it does not name.
        if self.replaces:
            return {}
        return dynamic.broker if self.name else dynamic.cluster
