"""What IncrementalAlterConfigs does to one value: sets, deletes or edits a list.

Source: ``ConfigurationControlManager.incrementalAlterConfigResource`` (4.3.1).
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.config.dynamic_values import DynamicValues


class ConfigOperation(IntEnum):
    """The codes on the wire."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


OF_LISTS = frozenset({ConfigOperation.APPEND, ConfigOperation.SUBTRACT})


def operated(operation: ConfigOperation, current: str, elements: str) -> str:
    """Return a list with elements appended that it lacks, or without them; comma-separated."""
    parts = [part.strip() for part in current.split(",")] if current.strip() else []
    # As Java splits: empty elements at the end do not count, but "" is one empty element.
    split = elements.rstrip(",").split(",") if elements.strip(",") or not elements else []
    for element in map(str.strip, split):
        if operation is ConfigOperation.APPEND:
            if element not in parts:
                parts.append(element)
        elif element in parts:
            parts.remove(element)
    return ",".join(parts)


class Alteration(NamedTuple):
    """What shall become of one key; ``operation`` is the code of a ``ConfigOperation``."""

    name: str
    operation: int
    value: str | None


class AlteredResource(NamedTuple):
    """A topic or a broker whose keys shall change; a broker without a name is all of them.

    ``replaces`` says that keys which are not named lose their values.
    """

    is_topic: bool
    name: str
    alterations: tuple[Alteration, ...]
    replaces: bool = False

    def given_of(self, dynamic: DynamicValues) -> Mapping[str, str]:
        """Return the values of a broker, or of all, that a change begins with."""
        if self.replaces:
            return {}
        return dynamic.broker if self.name else dynamic.cluster
