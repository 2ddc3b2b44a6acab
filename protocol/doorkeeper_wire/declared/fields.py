"""Reads a message field by field, with offsets: the declared codec as a dissector.

    reader = FieldReader(frame)
    for field in reader.read("SaslHandshakeRequest", 1):
        print(field.offset, field.path, field.value)

The trees define the fields and the rejected bytes. Fields before a fault are yielded before
`Malformed` is raised, which parsing the whole tree could not do.
"""
# ruff: noqa: SLF001 - as in nodes: construct is extended by _parse

from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from io import BytesIO
from typing import Any, NamedTuple

from construct import Bytes, ConstructError, FormatField, Int8sb, StreamError

from doorkeeper_wire.declared import tree
from doorkeeper_wire.declared.contents import MODULES
from doorkeeper_wire.declared.nodes import (
    UVARINT,
    Array,
    Flag,
    NullableRecord,
    Octets,
    Record,
    Sized,
    TagSection,
    Text,
    _check_left,
)
from doorkeeper_wire.errors import Malformed

__all__ = ["Field", "FieldReader", "kafka_name"]

_NUMBERS = {
    ">b": "int8",
    ">h": "int16",
    ">H": "uint16",
    ">l": "int32",
    ">q": "int64",
    ">d": "float64",
}
_TYPES = ((Flag, "bool"), (Bytes, "uuid"), (Text, "string"), (Octets, "bytes"))


class Field(NamedTuple):
    """A field of a message and its place in the data.

    The value of an array is the number of its elements, which follow, or None for null. A struct
    has the value None; its type is "struct", or "null" where a nullable struct is absent.
    """

    offset: int
    size: int
    """The bytes of the field itself: of an array its count, of a struct its null marker."""
    path: str
    name: str
    type: str
    value: Any
    depth: int
    secret: bool
    """Whether the value would allow a reader to log in."""


class _Place(NamedTuple):
    path: str
    name: str
    depth: int
    secret: bool = False


class FieldReader:
    """Reads consecutive messages; `position` is the offset of the next one."""

    def __init__(self, data: bytes, offset: int = 0) -> None:
        self._data_size = len(data)
        self._stream = BytesIO(data)
        self._stream.seek(offset)
        self._message = ""

    @property
    def position(self) -> int:
        return self._stream.tell()

    def read(self, message: str, version: int) -> Iterator[Field]:
        """Yield the fields of the message at `position`, in the order of the bytes.

        Tagged fields are yielded only if there are any.

        Raises:
            LookupError: there is no such message or version.
            Malformed: the bytes are not such a message; `field` is the path of the field.
        """
        record = tree(message, version)
        self._message = message
        yield from self._record(record, _Place("", "", 0))

    def _record(self, record: Record, place: _Place) -> Iterator[Field]:
        secrets = _secrets(self._message, record.kind)
        for part in record.subcons:
            yield from self._value(part.subcon, _below(place, part.name, part.name in secrets))
        if record.tags is not None:
            yield from self._tags(record.tags, place, secrets)

    def _value(self, node: Any, place: _Place) -> Iterator[Field]:
        if isinstance(node, Array):
            yield from self._array(node, place)
        elif isinstance(node, NullableRecord):
            start = self.position
            if self._node_value(Int8sb, start, place.path) < 0:
                yield self._field(start, place, "null", None)
                return
            yield self._field(start, place, "struct", None)
            yield from self._record(node.record, place)
        elif isinstance(node, Record):
            yield self._field(self.position, place, "struct", None)
            yield from self._record(node, place)
        else:
            yield self._plain(node, place)

    def _array(self, node: Array, place: _Place) -> Iterator[Field]:
        start = self.position
        count = self._size(node, place.path)
        yield self._field(start, place, "array", count)
        for index in range(count or 0):
            item = _Place(f"{place.path}[{index}]", f"[{index}]", place.depth + 1, place.secret)
            yield from self._value(node.element, item)

    def _plain(self, node: Any, place: _Place) -> Field:
        start = self.position
        if isinstance(node, Sized):
            # Read twice, so that the error states the announced length.
            self._size(node, place.path)
            self._stream.seek(start)
        value = self._node_value(node, start, place.path)
        return self._field(start, place, _type_of(node), value)

    def _tags(
        self, section: TagSection, place: _Place, secrets: tuple[str, ...]
    ) -> Iterator[Field]:
        start = self.position
        here = _below(place, "tagged_fields", secret=False)
        count = self._varint(here.path)
        if count > 0:
            yield self._field(start, here, "array", count)
        known = {field.tag: field for field in section.known}
        for _ in range(count):
            start = self.position
            tag, size = self._varint(here.path), self._varint(here.path)
            if tag in section.refused:
                raise Malformed(here.path, start, f"tag {tag} is not valid in this version")
            if tag in known:
                name = known[tag].name
                item = _below(place, name, name in secrets)
                yield from self._value(known[tag].node, item._replace(depth=here.depth + 1))
                continue
            self._parse(partial(_check_left, self._stream, size, here.path), start, here.path)
            item = _Place(f"{here.path}[{tag}]", f"[{tag}]", here.depth + 1, bool(secrets))
            yield self._field(start, item, "bytes", self._stream.read(size))

    def _size(self, node: Sized, path: str) -> int | None:
        """Read a length, and compare it with the bytes left; None is null."""

        def read() -> int | None:
            size = node._parse_size(self._stream, None, path)
            if size is not None:
                _check_left(self._stream, size, path)
            return size

        found: int | None = self._parse(read, self.position, path)
        return found

    def _varint(self, path: str) -> int:
        return int(self._node_value(UVARINT, self.position, path))

    def _node_value(self, node: Any, start: int, path: str) -> Any:
        return self._parse(partial(node._parsereport, self._stream, None, path), start, path)

    def _parse(self, parse: Callable[[], Any], start: int, path: str) -> Any:
        try:
            return parse()
        except StreamError:
            left = self._data_size - start
            raise Malformed(path, start, f"needs more than the {left} bytes left") from None
        except ConstructError as error:
            # construct prepends a line with a path of its own.
            raise Malformed(path, start, str(error).splitlines()[-1]) from None

    def _field(self, start: int, place: _Place, kind: str, value: Any) -> Field:
        path, name, depth, secret = place
        return Field(start, self.position - start, path, name, kind, value, depth, secret)


def kafka_name(name: str) -> str:
    """Return the name that Kafka's definitions give a field: ``resource_type`` is ResourceType."""
    return "".join(map(str.capitalize, name.split("_")))


def _below(place: _Place, name: str, secret: bool) -> _Place:  # noqa: FBT001 - as a field of it
    shown = kafka_name(name)
    path = f"{place.path}.{shown}" if place.path else shown
    return _Place(path, shown, place.depth + bool(place.path), secret)


def _type_of(node: Any) -> str:
    if isinstance(node, FormatField):
        return _NUMBERS[node.fmtstr]
    return next(name for kind, name in _TYPES if isinstance(node, kind))


@cache
def _secrets(message: str, kind: str) -> tuple[str, ...]:
    """Return the secret fields of a struct, known to the generated class."""
    module = import_module(f"doorkeeper_wire.messages.{MODULES[message][0]}")
    found: tuple[str, ...] = getattr(module, kind).SECRETS
    return found
