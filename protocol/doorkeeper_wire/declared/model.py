"""What a schema says, as values: messages, their fields, and the versions in which these exist."""

from dataclasses import dataclass
from typing import TypeAlias

NEVER = 32767

PRIVATE_FROM = 10_000
"""The first key for APIs that Kafka does not have."""


@dataclass(frozen=True, slots=True)
class Empty:
    """The default of a struct that cannot be null: the struct with the defaults of its fields."""

    kind: str

    def __repr__(self) -> str:
        return f"{self.kind}()"


Default: TypeAlias = Empty | int | float | str | bytes | bool | tuple[()] | None

PLAIN_DEFAULTS: dict[str, Default] = {
    "bool": False,
    "int8": 0,
    "int16": 0,
    "uint16": 0,
    "int32": 0,
    "int64": 0,
    "float64": 0.0,
    "string": "",
    "bytes": b"",
    "uuid": bytes(16),
}
"""The types that are no struct, with the default that Kafka gives them."""


@dataclass(frozen=True, slots=True)
class Versions:
    """A closed range of versions; empty when `low` is above `high`."""

    low: int
    high: int

    def __contains__(self, version: int) -> bool:
        return self.low <= version <= self.high


NONE = Versions(NEVER, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a struct. `kind` is the type without the brackets of an array.

    `tag` is None for an ordinary field. `compact` is false for the one text of Kafka that keeps
    its int16 length in a flexible version. What is `secret` is left out where a message is shown.
    `resource` is the type of the resource that the field names, for which a broker authorizes the
    request. `fields` are those of the struct, for a struct.
    """

    name: str
    kind: str
    is_array: bool
    versions: Versions
    nullable: Versions
    tag: int | None
    default: Default
    ignorable: bool
    compact: bool
    secret: bool
    meaning: str
    resource: str = ""
    fields: tuple["Field", ...] = ()

    @property
    def is_struct(self) -> bool:
        """Whether the field holds structs."""
        return self.kind not in PLAIN_DEFAULTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A request, a response, a header or another message; `api_key` is -1 for the last two."""

    name: str
    api_key: int
    versions: Versions
    flexible_from: int
    meaning: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """The messages of one schema file; `name` is that of the generated module.

    Without a `meaning` there is no generated code: the messages are read and written by their
    trees. `listeners` are the kinds of listeners on which Kafka has an API that is refused in some
    of its versions.
    """

    name: str
    meaning: str
    listeners: frozenset[str]
    messages: tuple[Message, ...]
