"""Hides the values of fields and keys that hold secrets.

The second line of defence: callers should not log such values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from doorkeeper.server.config.keys import KEYS

if TYPE_CHECKING:
    from structlog.typing import EventDict, WrappedLogger

HIDDEN = "[hidden]"

_SECRET = re.compile(
    r"passw|secret|token|credential|proof|jaas|private.?key|auth_bytes", re.IGNORECASE
)
_KEYS = frozenset(key.name for key in KEYS.values() if key.sensitive)


def is_secret(name: str) -> bool:
    """Return whether a field or key of this name may hold a secret."""
    return bool(_SECRET.search(name)) or name in _KEYS or name.replace("_", ".") in _KEYS


def hide(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replace secret values of an event, also inside mappings."""
    for name, value in event.items():
        if is_secret(name):
            event[name] = HIDDEN
        elif isinstance(value, Mapping):
            event[name] = _hidden_inside(value)
    return event


def _hidden_inside(mapping: Mapping[object, object]) -> dict[object, object]:
    return {
        key: HIDDEN
        if is_secret(str(key))
        else _hidden_inside(value)
        if isinstance(value, Mapping)
        else value
        for key, value in mapping.items()
    }
