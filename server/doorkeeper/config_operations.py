"""What IncrementalAlterConfigs does to one value: set it, delete it, add to a list, take out of it.

Source: ``ConfigurationControlManager.incrementalAlterConfigResource`` (4.3.1).
"""

from __future__ import annotations

from enum import IntEnum


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
