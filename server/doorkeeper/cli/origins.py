"""The values in effect and their sources, with hidden secrets."""

from __future__ import annotations

from msgspec import Struct

from doorkeeper.base.values import KeyType, without_login
from doorkeeper.server.config.keys import KEYS
from doorkeeper.server.config.naming import find_key
from doorkeeper.server.config.settings import Settings, default_of, meaning_of

HIDDEN = "(hidden)"
DEFAULT = "default"

# DescribeConfigs hides undeclared keys such as super.users as a broker does, but the operator of
# this machine may see them.
_SHOWN_ALTHOUGH_UNDECLARED = frozenset(
    key.name for key in KEYS.values() if not key.declared and key.type is not KeyType.PASSWORD
)


class ValueOrigin(Struct, frozen=True):
    """A key, its value (None if there is none), and its source, for example file and line.

    An undeclared key counts as having an effect, because plug-ins may read it.
    """

    key: str
    value: str | None
    source: str
    has_effect: bool


def origins_of(settings: Settings) -> list[ValueOrigin]:
    """Return all keys with an effect and all other entries, sorted by key.

    The values of passwords and of undeclared keys, which may be secrets, are hidden.
    """
    entries = {entry.key: entry for entry in (*settings.static, *settings.dynamic.entries())}
    rows = []
    for name in sorted(KEYS.keys() | entries.keys()):
        has_effect = not find_key(name).without_effect
        if name in entries:
            hidden = meaning_of(name).sensitive and name not in _SHOWN_ALTHOUGH_UNDECLARED
            value = HIDDEN if hidden else without_login(entries[name].value.strip())
            rows.append(ValueOrigin(name, value, entries[name].source, has_effect))
        else:
            default = KEYS[name].default if default_of(name) is None else default_of(name)
            rows.append(ValueOrigin(name, default, DEFAULT, has_effect))
    return rows
