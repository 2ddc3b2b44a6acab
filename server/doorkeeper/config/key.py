"""What the table of keys says of each key."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from doorkeeper.config.values import KeyType
from doorkeeper.value import Value

if TYPE_CHECKING:
    from doorkeeper.config.values import Check


class Scope(Enum):
    """What may stand before a key: each scope allows what the ones above it allow."""

    SERVER = "nothing"
    LISTENER = "listener.name.<name>."
    MECHANISM = "listener.name.<name>.<mechanism>."


class Applies(Enum):
    """When a new value counts."""

    RESTART = "after a restart"
    RELOAD = "after SIGHUP"
    DYNAMIC = "after SIGHUP, or at once when it is changed over the wire"


class Key(Value):
    """One key. ``default`` is the text that stands for it where nobody gives it, or None.

    ``importance`` is Kafka's word: HIGH, MEDIUM or LOW. ``declared`` is false for keys that a
    broker hands to its authorizer without declaring them: their values are never described.
    ``since`` is the release from which a new value counts as ``applies`` says.
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
        """Say whether the value is never shown."""
        return self.type is KeyType.PASSWORD or not self.declared

    @property
    def ours(self) -> bool:
        """Say whether no Kafka broker knows the key."""
        return self.name.startswith("doorkeeper.")
