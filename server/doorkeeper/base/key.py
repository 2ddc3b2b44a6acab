"""Description of a key in the table of keys."""

from __future__ import annotations

from enum import Enum

from doorkeeper.base.value import Value
from doorkeeper.base.values import Check, KeyType


class Scope(Enum):
    """The prefixes that a key may have: each scope includes the ones above it."""

    SERVER = "nothing"
    LISTENER = "listener.name.<name>."
    MECHANISM = "listener.name.<name>.<mechanism>."


class Applies(Enum):
    """When a new value takes effect."""

    RESTART = "after a restart"
    RELOAD = "after SIGHUP"
    DYNAMIC = "after SIGHUP, or at once when it is changed over the wire"


class Key(Value):
    """One key. ``default`` is the text of its default value, or None.

    ``importance`` is Kafka's: HIGH, MEDIUM or LOW. ``declared`` is False for keys that a broker
    passes to its authorizer without declaring them: their values are never described. ``since`` is
    the release from which ``applies`` is true.
    """

    name: str
    type: KeyType
    default: str | None
    doc: str
    importance: str = "MEDIUM"
    check: Check | None = None
    scope: Scope = Scope.SERVER
    declared: bool = True
    applies: Applies = Applies.RESTART
    since: str = "0.1.0"

    @property
    def sensitive(self) -> bool:
        """Return whether the value is never shown."""
        return self.type is KeyType.PASSWORD or not self.declared

    @property
    def ours(self) -> bool:
        """Return whether the key is Doorkeeper's own."""
        return self.name.startswith("doorkeeper.")
