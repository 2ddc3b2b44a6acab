"""The base classes of messages and structs: immutable values.

A struct is a class with slots whose fields are keywords with defaults. It is built as its *draft*,
a base class with the same slots that allows assignments, and becomes the struct by a change of
`__class__`: half the cost of a frozen dataclass, whose construction calls `object.__setattr__` for
each field. See docs/decisions/generated-codec.md.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, Self, TypeAlias

from doorkeeper_wire.errors import Unencodable, Unsupported
from doorkeeper_wire.layout import Layout, unencodable
from doorkeeper_wire.writing import ENCODE_ERRORS

Tags: TypeAlias = tuple[tuple[int, bytes], ...]
"""Unknown tagged fields: tag and bytes."""

new = object.__new__

NEVER = 32767
"""The value of FLEXIBLE_FROM for messages without flexible versions."""


class Record:
    """A struct of a message: immutable, compared and printed by its fields."""

    __slots__ = ()
    FIELDS: ClassVar[tuple[str, ...]] = ()
    SECRETS: ClassVar[tuple[str, ...]] = ()
    """Fields that repr hides, since they would allow a reader to log in."""

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed.

        Raises:
            TypeError: a name is not a field.
        """
        values = {name: getattr(self, name) for name in self.FIELDS}
        return type(self)(**(values | changes))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.FIELDS)

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, name) for name in self.FIELDS)))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={self._field_repr(name)}" for name in self.FIELDS)
        return f"{type(self).__name__}({fields})"

    def _field_repr(self, name: str) -> str:
        return "<hidden>" if name in self.SECRETS else repr(getattr(self, name))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        values = {name: getattr(self, name) for name in self.FIELDS}
        return _rebuild, (type(self), values)


class Frozen:
    """Prohibits assignments: the second base of each finished struct."""

    __slots__ = ()

    def __setattr__(self, name: str, _value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}.{name}: messages do not change; use replace()")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}.{name}: messages do not change")


def _rebuild(kind: type[Record], values: dict[str, Any]) -> Record:
    return kind(**values)


class Message(Record):
    """A message or header: a struct with codecs for several versions.

    `API_KEY` is -1 for messages that are no request or response of an API.
    """

    __slots__ = ()
    API_KEY: ClassVar[int] = -1
    MIN_VERSION: ClassVar[int]
    MAX_VERSION: ClassVar[int]
    FLEXIBLE_FROM: ClassVar[int]
    DECODERS: ClassVar[tuple[Any, ...]]
    ENCODERS: ClassVar[tuple[Any, ...]]
    LAYOUTS: ClassVar[tuple[Layout, ...]]

    @classmethod
    def decode(cls, data: bytes, offset: int, version: int) -> tuple[Self, int]:
        """Return the message at `offset`, and the offset of its end.

        Bytes after the end are not checked; a broker ignores them.

        Raises:
            Malformed: the bytes are not such a message.
            Unsupported: there is no such version.
        """
        if not cls.MIN_VERSION <= version <= cls.MAX_VERSION:
            raise _version_error(cls, version)
        found: tuple[Self, int] = cls.DECODERS[version](data, offset, len(data))
        return found

    def encode(self, version: int, join: Callable[[list[bytes]], Any] = b"".join) -> bytes:
        """Return the bytes of the message in a version, or what ``join`` makes of their parts.

        A field that the version lacks is dropped if it is ignorable; otherwise, if it is set, the
        message is rejected, as by Kafka.

        Raises:
            Unencodable: a field cannot carry its value.
            Unsupported: there is no such version, or it lacks a field that is set.
        """
        if not self.MIN_VERSION <= version <= self.MAX_VERSION:
            raise _version_error(type(self), version)
        out: list[bytes] = []
        try:
            self.ENCODERS[version](out, self)
            return join(out)  # type: ignore[no-any-return]  # bytes, or what the caller makes
        except Unencodable:
            raise
        # Encoders do not check values; the layout finds the faulty field afterwards.
        except ENCODE_ERRORS as error:
            raise unencodable(self, self.LAYOUTS[version], error) from error


def _version_error(kind: type[Message], version: int) -> Unsupported:
    allowed = f"{kind.MIN_VERSION} to {kind.MAX_VERSION}"
    return Unsupported(kind.__name__, f"version {version}; there are {allowed}")
