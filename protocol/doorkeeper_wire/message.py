"""The base classes of messages and their structs: immutable values with a codec for all versions.

Each struct is one `msgspec.Struct`, generated from `schemas/messages`, which reads and writes
itself in every version. See docs/decisions/generated-codec.md.
"""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self, TypeAlias, get_args, get_origin

from msgspec import Struct, structs

from doorkeeper_wire.errors import Unencodable, Unsupported
from doorkeeper_wire.writing import ENCODE_ERRORS

Tags: TypeAlias = tuple[tuple[int, bytes], ...]
"""Unknown tagged fields: tag and bytes."""

NO_TAGS: Tags = ()

NEVER = 32767
"""The value of FLEXIBLE_FROM for messages without flexible versions."""


class Record(Struct, frozen=True, gc=False):
    """A struct of a message: immutable, compared and printed by its fields.

    Values that never change cannot refer to themselves, so the garbage collector leaves them out.
    """

    SECRETS: ClassVar[frozenset[str]] = frozenset()
    """Fields that repr hides, since they would allow a reader to log in."""

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed.

        Raises:
            TypeError: a name is not a field.
        """
        return structs.replace(self, **changes)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={self._shown(name)}" for name in self.__struct_fields__)
        return f"{type(self).__name__}({fields})"

    def _shown(self, name: str) -> str:
        return "<hidden>" if name in self.SECRETS else repr(getattr(self, name))


class Message(Record, frozen=True, gc=False):
    """A message or header: a struct that begins with a version.

    `API_KEY` is -1 for messages that are no request or response of an API.
    """

    API_KEY: ClassVar[int] = -1
    MIN_VERSION: ClassVar[int]
    MAX_VERSION: ClassVar[int]
    FLEXIBLE_FROM: ClassVar[int]

    @staticmethod
    def read(data: bytes, at: int, version: int) -> tuple[Any, int]:
        """Read the message at `at`; the version is known. Generated."""
        raise NotImplementedError

    def write(self, out: list[bytes], version: int) -> None:
        """Append the parts of the message; the version is known. Generated."""
        raise NotImplementedError

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
        return cls.read(data, offset, version)

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
            self.write(out, version)
            return join(out)  # type: ignore[no-any-return]  # bytes, or what the caller makes
        except Unencodable:
            raise
        # What is written is not checked; the declaration finds the faulty field afterwards.
        except ENCODE_ERRORS as error:
            # Reads YAML, and is never needed for messages that are right.
            from doorkeeper_wire.declared.faults import unencodable  # noqa: PLC0415

            raise unencodable(self, version, error) from error


def arrays_of_structs(kind: type[Record]) -> Iterator[tuple[str, type[Record]]]:
    """Yield the fields of a struct that are arrays of structs, and the class of their items."""
    for name in kind.__struct_fields__:
        hint = kind.__annotations__[name]
        for part in (hint, *get_args(hint)):  # of tuple[X, ...] | None too
            item = next(iter(get_args(part)), None) if get_origin(part) is tuple else None
            if isinstance(item, type) and issubclass(item, Record):
                yield name, item


def _version_error(kind: type[Message], version: int) -> Unsupported:
    allowed = f"{kind.MIN_VERSION} to {kind.MAX_VERSION}"
    return Unsupported(kind.__name__, f"version {version}; there are {allowed}")
