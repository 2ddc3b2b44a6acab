"""Operations of IncrementalAlterConfigs on a value.

Source: ``ConfigurationControlManager.incrementalAlterConfigResource`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from msgspec import Struct

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.config.settings import DynamicValues
from doorkeeper.server.resources.policies.contract import ConfigAlteration, ConfigResourceType


class ConfigOperation(IntEnum):
    """The codes of the protocol."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


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


def _unexpected(_code: int) -> ApiError:
    # A controller fails unexpectedly too.
    return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)


def altered(
    before: Mapping[str, str],
    alterations: Iterable[Alteration],
    first_elements: Callable[[str, ConfigOperation], str | None],
    unknown: Callable[[int], ApiError] = _unexpected,
) -> dict[str, str]:
    """Return the values after alterations, which are made in their order.

    ``first_elements`` returns the list that a key without a value begins with, None for a key that
    is not a list; ``unknown`` is the refusal of a code that is no operation.

    Raises:
        ApiError: an operation is unknown, or its key is not a list.
    """
    values = dict(before)
    for name, code, value in alterations:
        try:
            operation = ConfigOperation(code)
        except ValueError:
            raise unknown(code) from None
        if operation is ConfigOperation.SET:
            values[name] = value or ""
        elif operation is ConfigOperation.DELETE:
            values.pop(name, None)
        else:
            first = first_elements(name, operation)
            if first is None:
                text = f"Can't {operation.name} to key {name} because its type is not LIST."
                raise ApiError(ErrorCode.INVALID_CONFIG, text)
            values[name] = edit_list(operation, values.get(name, first), value or "")
    return values


STORED_TYPES: Final[Mapping[int, str]] = {
    ConfigResourceType.GROUP: "group",
    ConfigResourceType.CLIENT_METRICS: "client-metrics",
}
"""The types of ``ResourceConfigs``: their names in the store."""


class AlteredResource(Struct, frozen=True):
    """Changes of a resource, or of all brokers if a broker's name is empty.

    ``kind`` is the code of a ``ConfigResourceType``, or what a request has in its place. With
    ``replaces`` keys that are not named lose their values.
    """

    kind: int
    name: str
    alterations: tuple[Alteration, ...]
    replaces: bool = False

    def changed(self, before: Mapping[str, str], after: Mapping[str, str]) -> ConfigAlteration:
        """Return the new values of the keys that change, as a policy sees them."""
        names = (alteration.name for alteration in self.alterations)
        values = {n: after.get(n) for n in names if after.get(n) != before.get(n)}
        return ConfigAlteration(ConfigResourceType(self.kind), self.name, values)

    def current_values(self, dynamic: DynamicValues) -> Mapping[str, str]:
        """Return the dynamic values on which the change starts."""
        # AlterConfigs (unlike IncrementalAlterConfigs) resets all keys that it does not name.
        if self.replaces:
            return {}
        return dynamic.broker if self.name else dynamic.cluster
