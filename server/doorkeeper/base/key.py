"""A configuration key: its row is its name, type, default, check, documentation and reload.

    MAX_CONNECTIONS = integer("max.connections", INT_MAX, "The maximum ...", at_least(0))
    settings[MAX_CONNECTIONS]     an int, for mypy too

``text``, ``integer`` and the others declare a key of a type; ``Key`` itself one that is read in
another way.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, TypedDict, TypeVar, Unpack

from msgspec import Struct

from doorkeeper.base.values import Check, KeyType, Password, parse_value, trim

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T_co = TypeVar("T_co", covariant=True)

NOTHING: Final = MappingProxyType[Any, Any]({})
"""The default of mappings: read-only, so that all values can share it."""


class Scope(Enum):
    """The prefixes that a key may have: each scope includes the ones above it."""

    SERVER = "nothing"
    LISTENER = "listener.name.<name>."
    MECHANISM = "listener.name.<name>.<mechanism>."


class Applies(Enum):
    """When a new value takes effect."""

    RESTART = "after a restart"
    RELOAD = "after SIGHUP"
    DYNAMIC = "after SIGHUP, or immediately when changed with kafka-configs.sh"


class Dynamic(Enum):
    """Whose dynamic value a broker of Kafka takes.

    Source: ``DynamicBrokerConfig`` (4.3.1): ``DynamicSecurityConfigs``, ``PerBrokerConfigs``,
    ``ClusterLevelListenerConfigs`` and the rest of ``AllDynamicConfigs``.
    """

    LISTENER = "of one broker, and only with a listener's prefix"
    BROKER = "of one broker"
    CLUSTER_LISTENER = "of the whole cluster, also with a listener's prefix"
    CLUSTER = "of the whole cluster"


class Options(TypedDict, total=False):
    """What most keys do not have."""

    scope: Scope
    applies: Applies
    declared: bool
    since: str
    in_kafka: Dynamic | None


class Key(Generic[T_co]):
    """One key, whose value is a ``T_co``. ``default`` is the text of its default value, or None.

    ``declared`` is False for keys that a broker passes to its authorizer without declaring them:
    their values are never described. ``since`` is the release from which ``applies`` is true.
    ``in_kafka`` is None for a key that is not dynamic there.
    """

    __slots__ = (
        *("_absent", "_read", "applies", "check", "declared", "default", "doc", "in_kafka", "name"),
        *("scope", "since", "type"),
    )

    def __init__(
        self,
        name: str,
        key_type: KeyType,
        default: str | None,
        doc: str,
        check: Check | None = None,
        *,
        read: Callable[[Any], T_co] | None = None,
        absent: object = None,
        **options: Unpack[Options],
    ) -> None:
        """``read`` makes the value of one of the type; ``absent`` is the value without a default.

        A key that may have a prefix applies after SIGHUP, others after a restart, by default.
        """
        self.name: Final = name
        self.type: Final = key_type
        self.default: Final = default
        self.doc: Final = doc
        self.check: Final = check
        self.scope: Final = options.get("scope", Scope.SERVER)
        usual = Applies.RESTART if self.scope is Scope.SERVER else Applies.RELOAD
        self.applies: Final = options.get("applies", usual)
        self.declared: Final = options.get("declared", True)
        self.since: Final = options.get("since", "0.1.0")
        self.in_kafka: Final = options.get("in_kafka")
        self._read = read
        self._absent = absent

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__

    @property
    def sensitive(self) -> bool:
        """Return whether the value is never shown."""
        return self.type is KeyType.PASSWORD or not self.declared

    @property
    def ours(self) -> bool:
        """Return whether the key is Doorkeeper's own."""
        return self.name.startswith("doorkeeper.")

    def parse(self, text: str) -> T_co:
        """Return the value of a text.

        Raises:
            ValueError: it is not allowed; the text describes the allowed values.
        """
        value = parse_value(self.type, text)
        if self.check is not None:
            self.check(value)
        converted: Any = value if self._read is None else self._read(value)
        return converted  # type: ignore[no-any-return]

    @property
    def default_value(self) -> T_co:
        """Return the value without an entry."""
        value: Any = self._absent if self.default is None else self.parse(self.default)
        return value  # type: ignore[no-any-return]


class KeyValues(Struct, frozen=True, kw_only=True):
    """The values of the keys that may have a listener's prefix: ``values[KEY]`` is typed.

    ``values`` are valid texts by the key without prefix, in Kafka's precedence of prefixes and with
    defaults; they contain secrets. ``given_as`` are the keys as written in the configuration, by
    the same names.
    """

    values: Mapping[str, str] = NOTHING
    given_as: Mapping[str, str] = NOTHING

    def __repr__(self) -> str:
        shown = (name for name in self.__struct_fields__ if name not in ("values", "originals"))
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in shown)})"

    def __getitem__(self, key: Key[T_co]) -> T_co:
        text = trim(self.values.get(key.name, ""))
        return key.parse(text) if text else key.default_value

    def full_name(self, key: Key[object]) -> str:
        """Return the key as it is given, or its plain name."""
        return self.given_as.get(key.name, key.name)


def integer(
    name: str, default: int, doc: str, check: Check | None = None, **options: Unpack[Options]
) -> Key[int]:
    return Key(name, KeyType.INT, str(default), doc, check, **options)


def long(
    name: str, default: int, doc: str, check: Check | None = None, **options: Unpack[Options]
) -> Key[int]:
    return Key(name, KeyType.LONG, str(default), doc, check, **options)


def flag(name: str, doc: str, *, default: bool = False, **options: Unpack[Options]) -> Key[bool]:
    return Key(name, KeyType.BOOLEAN, str(default).lower(), doc, **options)


def text(
    name: str, default: str, doc: str, check: Check | None = None, **options: Unpack[Options]
) -> Key[str]:
    return Key(name, KeyType.STRING, default, doc, check, **options)


def optional(
    name: str, doc: str, check: Check | None = None, **options: Unpack[Options]
) -> Key[str | None]:
    """Declare a text; one that is absent or empty is None."""
    return Key(name, KeyType.STRING, None, doc, check, read=lambda text: text or None, **options)


def file(name: str, doc: str, **options: Unpack[Options]) -> Key[Path | None]:
    """Declare a path; one that is absent or empty is None."""
    return Key(
        name, KeyType.STRING, None, doc, read=lambda text: Path(text) if text else None, **options
    )


def java_class(
    name: str, doc: str, default: str | None = None, **options: Unpack[Options]
) -> Key[str]:
    """Declare the name of a class; one that is absent is empty."""
    return Key(name, KeyType.CLASS, default, doc, absent="", **options)


def password(name: str, doc: str, **options: Unpack[Options]) -> Key[Password | None]:
    return Key(name, KeyType.PASSWORD, None, doc, **options)


def words(
    name: str, default: str | None, doc: str, **options: Unpack[Options]
) -> Key[tuple[str, ...]]:
    """Declare a list, without its empty and repeated elements."""

    def distinct(value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(filter(None, value)))

    return Key(name, KeyType.LIST, default, doc, read=distinct, absent=(), **options)
