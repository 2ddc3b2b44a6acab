"""Values of messages, made from the declared trees: what the codec's property tests are fed."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, singledispatch
from importlib import import_module
from typing import Any, get_args

from construct import Bytes, FormatField, Renamed
from hypothesis import strategies as st

from doorkeeper_wire.declared import modules, tree
from doorkeeper_wire.declared.model import PRIVATE_FROM, Module
from doorkeeper_wire.declared.nodes import (
    Array,
    Flag,
    NullableRecord,
    Octets,
    Record,
    TagSection,
    Text,
)
from doorkeeper_wire.declared.schema_file import snake
from doorkeeper_wire.errors import Malformed
from doorkeeper_wire.message import Message
from doorkeeper_wire.message import Record as Struct

_TEXTS = st.one_of(
    st.text(max_size=12),
    st.integers(min_value=120, max_value=140).map("x".__mul__),
    st.sampled_from(["User:alice", "*", "\U0001f600é", "y" * 400]),
)


def message_class(name: str) -> type[Message]:
    """Return the class of a message, by its Kafka name."""
    found: type[Message] = getattr(_module(name), name)
    return found


OF_METADATA = ("AccessControlEntryRecord", "RemoveAccessControlEntryRecord")
"""Records of metadata logs, which kafka-clients does not have; logs of real clusters judge them."""


@cache
def message_names() -> tuple[str, ...]:
    """Return the names of all messages that have a class."""
    return tuple(message.name for each in modules() if each.meaning for message in each.messages)


@cache
def refused_apis() -> dict[int, Module]:
    """Return the declarations of APIs that are refused in some version, by key."""
    return {each.messages[0].api_key: each for each in modules() if each.listeners}


def message_versions(*, of_kafka: bool = False) -> Iterator[tuple[str, int]]:
    """Yield every message in every version; with ``of_kafka`` those of kafka-clients."""
    for name in message_names():
        kind = message_class(name)
        if of_kafka and (kind.API_KEY >= PRIVATE_FROM or name in OF_METADATA):
            continue
        for version in range(kind.MIN_VERSION, kind.MAX_VERSION + 1):
            yield name, version


def distinct_versions() -> Iterator[tuple[str, int]]:
    """Yield the versions whose layout is not that of the one before."""
    before = ""
    for name, version in message_versions():
        layout = f"{name} {shape(tree(name, version))}"
        if layout != before:
            yield name, version
        before = layout


def shape(node: Any) -> Any:
    """Return what a tree says, for comparisons."""
    match node:
        case Renamed():
            return node.name, shape(node.subcon)
        case Record():
            tags = node.tags
            known = () if tags is None else [(t.tag, t.name, shape(t.node)) for t in tags.known]
            refused = None if tags is None else tags.refused
            parts = [shape(part) for part in node.subcons]
            return node.kind, parts, known, refused, [absent.name for absent in node.absent]
        case NullableRecord():
            return "nullable", shape(node.record)
        case Array():
            return "array", node.compact, node.nullable, shape(node.element)
        case Text() | Octets():
            return type(node).__name__, node.compact, node.nullable
        case _:
            return getattr(node, "fmtstr", type(node).__name__)


def built(name: str, values: dict[str, Any]) -> Any:
    """Return the message that has these values."""
    return _built(message_class(name), values)


def plain(value: Any) -> Any:
    """Return a message or a parsed container as dictionaries, tuples and plain values."""
    if isinstance(value, Struct):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return tuple(plain(item) for item in value)
    return value


def declared_outcome(name: str, version: int, data: bytes) -> Any:
    """Return what the tree reads and where it ends, or its error when it refuses the data."""
    try:
        value, end = tree(name, version).decode(data, 0)
    except Malformed as error:
        return str(error)
    return plain(value), end


def generated_outcome(name: str, version: int, data: bytes) -> Any:
    """Return what the generated decoder reads and where it ends, or its error when it refuses."""
    try:
        message, end = message_class(name).decode(data, 0, version)
    except Malformed as error:
        if not error.field or not 0 <= error.offset <= len(data):
            raise
        return str(error)
    return plain(message), end


@dataclass
class Filling:
    """Values of a message by a fixed rule: sparse ones have nulls and empty arrays."""

    sparse: bool
    count: int = 0

    def value(self, node: Any, name: str) -> Any:
        """Return the value of a field."""
        self.count += 1
        match node:
            case Renamed():
                return self.value(node.subcon, name)
            case FormatField():
                number = self._number(name)
                return number / 4 if node.fmtstr == ">d" else number
            case Flag():
                return not self.sparse
            case Bytes():
                return bytes(16) if self.sparse else bytes(range(self.count, self.count + 16))
            case Text() | Octets() | Array() | NullableRecord():
                return self._sized(node, name)
            case _:
                return self.record(node)

    def record(self, node: Record) -> dict[str, Any]:
        """Return the values of a struct; known tags are left out where it is sparse."""
        values = {part.name: self.value(part.subcon, part.name) for part in node.subcons}
        if node.tags is not None and not self.sparse:
            values |= {field.name: self.value(field.node, field.name) for field in node.tags.known}
        return values

    def _number(self, name: str) -> int:
        if name.endswith("error_code"):
            return 0 if self.sparse else 29
        return self.count % 100 + 1

    def _sized(self, node: Any, name: str) -> Any:
        if self.sparse and getattr(node, "nullable", True):
            return None
        match node:
            case NullableRecord():
                return self.record(node.record)
            case Array():
                number = 0 if self.sparse else 2
                return [self.value(node.element, name) for _ in range(number)]
            case Octets():
                return b"" if self.sparse else bytes(range(self.count % 50, self.count % 50 + 3))
            case _:
                long = "-long" * 30 if self.count % 5 == 0 else ""
                return f"{name}-é{self.count}{long}"


@singledispatch
def values(node: Any) -> st.SearchStrategy[Any]:
    """Return the strategy of the values that a node can carry.

    Raises:
        TypeError: for a node that no tree has.
    """
    raise TypeError(f"no values for {node!r}")


@values.register
def _(node: Renamed) -> st.SearchStrategy[Any]:
    return values(node.subcon)


@values.register
def _(node: FormatField) -> st.SearchStrategy[Any]:
    if node.fmtstr == ">d":
        # Not a number equals nothing, not even itself.
        return st.floats(allow_nan=False)
    if node.fmtstr == ">H":
        return st.integers(min_value=0, max_value=0xFFFF)
    bound = 1 << (8 * node.length - 1)
    return st.integers(min_value=-bound, max_value=bound - 1)


@values.register
def _(_node: Flag) -> st.SearchStrategy[Any]:
    return st.booleans()


@values.register
def _(node: Bytes) -> st.SearchStrategy[Any]:
    return st.binary(min_size=node.length, max_size=node.length)


@values.register
def _(node: Text) -> st.SearchStrategy[Any]:
    return st.none() | _TEXTS if node.nullable else _TEXTS


@values.register
def _(node: Octets) -> st.SearchStrategy[Any]:
    octets = st.binary(max_size=12) | st.integers(125, 130).map(bytes)
    return st.none() | octets if node.nullable else octets


@values.register
def _(node: Array) -> st.SearchStrategy[Any]:
    items = st.lists(values(node.element), max_size=3).map(tuple)
    return st.none() | items if node.nullable else items


@values.register
def _(node: NullableRecord) -> st.SearchStrategy[Any]:
    return st.none() | values(node.record)


@values.register
def _(node: Record) -> st.SearchStrategy[Any]:
    parts = {part.name: values(part) for part in node.subcons}
    parts |= {absent.name: st.just(absent.default) for absent in node.absent}
    if node.tags is not None:
        parts |= _tag_values(node.tags)
    return st.fixed_dictionaries(parts)


def _tag_values(section: TagSection) -> dict[str, st.SearchStrategy[Any]]:
    """Return the strategies of known tags, often their defaults, and of unknown ones in order."""
    taken = {field.tag for field in section.known} | set(section.refused)
    known = {field.name: st.just(field.default) | values(field.node) for field in section.known}
    tags = st.integers(0, 200) | st.integers(0, 0x7FFFFFFE)
    free = st.dictionaries(tags.filter(lambda tag: tag not in taken), st.binary(max_size=6))
    return known | {"unknown_tags": st.just(()) | free.map(dict.items).map(sorted).map(tuple)}


@cache
def _module(name: str) -> Any:
    words = [name.removesuffix(end) for end in ("Request", "Response", "")]
    for word in words:
        with suppress(ModuleNotFoundError):
            return import_module(f"doorkeeper_wire.messages.{snake(word)}")
    raise LookupError(name)


def _built(hint: Any, value: Any) -> Any:
    """Return a value of a field as its annotation has it: dictionaries become structs."""
    if isinstance(value, tuple):
        return tuple(_built(hint, item) for item in value)
    if not isinstance(value, dict):
        return value
    kind = _struct_of(hint)
    return kind(**{key: _built(kind.__annotations__[key], item) for key, item in value.items()})


def _struct_of(hint: Any) -> Any:
    """Return the class of the structs in an annotation."""
    if isinstance(hint, type) and issubclass(hint, Struct):
        return hint
    return next(filter(None, map(_struct_of, get_args(hint))), None)
