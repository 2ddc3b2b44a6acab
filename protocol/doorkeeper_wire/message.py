"""The base of all messages and structs: values that never change.

A struct is a class of slots whose fields are keywords with defaults. It is built as its *draft*, a
base class with the same slots that takes plain assignments, and then becomes the struct by having
its class set: half the price of a frozen dataclass, whose construction goes through
`object.__setattr__` for each field. See docs/decisions/0010-message-classes.md.
"""

from typing import Any, ClassVar, NoReturn, Self, TypeAlias

from doorkeeper_wire.errors import Unencodable, Unsupported
from doorkeeper_wire.layout import Layout, unencodable
from doorkeeper_wire.writing import ENCODE_ERRORS

Tags: TypeAlias = tuple[tuple[int, bytes], ...]
"""Tagged fields as they came: tag and bytes."""

new = object.__new__
NEVER = 32767
"""The version from which a message is flexible, when no version is."""


class Record:
    """A struct of a message: immutable, compared and shown by its fields."""

    __slots__ = ()
    FIELDS: ClassVar[tuple[str, ...]] = ()
    SECRETS: ClassVar[tuple[str, ...]] = ()
    """Fields that are not shown, since they would let a reader log in."""

    def replace(self, **changes: Any) -> Self:  # noqa: ANN401 - fields of any type
        """Return a copy with some fields changed.

        Raises:
            TypeError: for a name that is no field.
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
        fields = ", ".join(f"{name}={self._shown(name)}" for name in self.FIELDS)
        return f"{type(self).__name__}({fields})"

    def _shown(self, name: str) -> str:
        return "<hidden>" if name in self.SECRETS else repr(getattr(self, name))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        values = {name: getattr(self, name) for name in self.FIELDS}
        return _rebuilt, (type(self), values)


class Frozen:
    """Refuses every assignment: the second base of each finished struct."""

    __slots__ = ()

    def __setattr__(self, name: str, _value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}.{name}: messages do not change; use replace()")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}.{name}: messages do not change")


def _rebuilt(kind: type[Record], values: dict[str, Any]) -> Record:
    return kind(**values)


class Message(Record):
    """A message or header: a struct that can be decoded and encoded in several versions.

    `API_KEY` is -1 for what is no request or response of an API.
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
        """Return the message that begins at `offset`, and where it ends.

        Bytes behind the end are the caller's affair; a broker ignores them.

        Raises:
            Malformed: when the bytes are no such message.
            Unsupported: when there is no such version.
        """
        cls._check(version)
        found: tuple[Self, int] = cls.DECODERS[version](data, offset, len(data))
        return found

    def encode(self, version: int) -> bytes:
        """Return the bytes of the message in a version.

        A field that the version does not have is left out when it may be ignored; when it must
        not be and is set, the message is refused, as by Kafka.

        Raises:
            Unencodable: when a field cannot carry its value.
            Unsupported: when there is no such version, or it cannot say what is set.
        """
        self._check(version)
        out: list[bytes] = []
        try:
            self.ENCODERS[version](out, self)
            return b"".join(out)
        except Unencodable:
            raise
        except ENCODE_ERRORS as error:
            raise unencodable(self, self.LAYOUTS[version], error) from error

    @classmethod
    def _check(cls, version: int) -> None:
        if not cls.MIN_VERSION <= version <= cls.MAX_VERSION:
            allowed = f"{cls.MIN_VERSION} to {cls.MAX_VERSION}"
            raise Unsupported(cls.__name__, f"version {version}; there are {allowed}")
