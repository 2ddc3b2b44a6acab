"""Lowers a tree to the source of its decoder.

The tree is walked node by node. Fixed-size fields are not read at once but collected: they and the
length prefix of the next thing make one run, read by one `struct.Struct`. Everything else ends
the run. The functions take `(data, at, end)` and keep `at` at the first byte not yet read.
"""

import struct
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import Any

from construct import Bytes, FormatField, Renamed

from doorkeeper_schemas.naming import Functions, Structs, code_of
from doorkeeper_wire.declared.nodes import (
    Array,
    Flag,
    NullableRecord,
    Octets,
    Record,
    TagSection,
    Text,
)


@dataclass(frozen=True, slots=True)
class Scope:
    """Where the walk is: the module's functions, the version, and the path of the struct."""

    functions: Functions
    structs: Structs
    stem: str
    version: int
    path: str = ""


@dataclass(slots=True)
class Block:
    """Statements under way, and the run of fixed-size fields that they have not read yet."""

    scope: Scope
    indent: int
    lines: list[str] = field(default_factory=list)
    _run: list[tuple[str, str, str]] = field(default_factory=list)

    def line(self, text: str, deeper: int = 0) -> None:
        """Add a statement."""
        self.lines.append("    " * (self.indent + deeper) + text)

    def fixed(self, code: str, target: str, name: str) -> None:
        """Add a field to the run: its struct code, what it is assigned to, and its path."""
        self._run.append((code, target, name))

    def flush(self) -> None:
        """Read the run."""
        if not self._run:
            return
        codes, targets, names = zip(*self._run, strict=True)
        fields = ", ".join(f'"{name}"' for name in names)
        self.line("try:")
        if codes == ("B",):
            # A third of the price of a struct; `at` is never negative.
            self.line(f"{targets[0]} = data[at]", 1)
            self.line("except IndexError:")
        else:
            assigned = ", ".join(targets) if len(targets) > 1 else f"({targets[0]},)"
            self.line(f"{assigned} = {self.scope.structs.named(codes)}(data, at)", 1)
            self.line("except StructError:")
        self.line(f'raise truncation(data, at, "{" ".join(codes)}", {fields}) from None', 1)
        self.line(f"at += {struct.calcsize('>' + ''.join(codes))}")
        self._run.clear()


def decoder(tree: Record, functions: Functions, structs: Structs, stem: str, version: int) -> str:
    """Make the functions that decode a message in a version; return the name of the outer one."""
    scope = Scope(functions, structs, f"_decode_{stem}", version)
    block = Block(scope, 1)
    _struct(tree, block)
    block.line("return item, at")
    signature = "(data: bytes, at: int, end: int) -> tuple[Any, int]:"
    return functions.named(scope.stem, version, signature, "\n".join(block.lines))


def _struct(record: Record, block: Block) -> None:
    """Read a struct into `item`."""
    path = block.scope.path
    block.line(f"item = new({record.kind}Draft)")
    for node in record.subcons:
        _read(node.subcon, block, f"item.{node.name}", path + node.name)
    for absent in record.absent:
        block.line(f"item.{absent.name} = {absent.default!r}")
    if record.tags is not None:
        _tags(record.tags, block)
    block.flush()
    block.line(f"item.__class__ = {record.kind}")


def _nested(record: Record, block: Block, name: str) -> str:
    """Make the function that reads several structs; return its name."""
    leaf = name.rsplit(".", 1)[-1]
    scope = replace(block.scope, stem=f"{block.scope.stem}_{leaf}", path=name + ".")
    inner = Block(scope, 2)
    _struct(record, inner)
    inner.line("found.append(item)")
    body = [
        "    found: list[Any] = []",
        "    for _ in range(count):",
        *inner.lines,
        "    return tuple(found), at",
    ]
    signature = "(data: bytes, at: int, end: int, count: int) -> tuple[tuple[Any, ...], int]:"
    return scope.functions.named(scope.stem, scope.version, signature, "\n".join(body))


def _tags(section: TagSection, block: Block) -> None:
    name = block.scope.path + "unknown_tags"
    block.fixed("B", "tagged", name)
    block.flush()
    if not section.known and not section.refused:
        block.line("if tagged:")
        block.line(f'item.unknown_tags, at = tags(data, at, tagged, "{name}")', 1)
        block.line("else:")
        block.line("item.unknown_tags = ()", 1)
        return
    for known in section.known:
        block.line(f"item.{known.name} = {known.default!r}")
    block.line("unknown: list[tuple[int, bytes]] = []")
    block.line(f'tagged, at = tag_count(data, at, tagged, "{name}")')
    block.line("for _ in range(tagged):")
    block.line(f'tag, size, at = tag_head(data, at, "{name}")', 1)
    word = "if"
    for known in section.known:
        block.line(f"{word} tag == {known.tag}:", 1)
        inner = Block(block.scope, block.indent + 2)
        _read(known.node, inner, f"item.{known.name}", block.scope.path + known.name)
        inner.flush()
        block.lines += inner.lines
        word = "elif"
    if section.refused:
        one = len(section.refused) == 1
        listed = f"== {section.refused[0]}" if one else f"in {section.refused!r}"
        block.line(f"{word} tag {listed}:", 1)
        block.line(f'raise Malformed("{name}", at, f"tag {{tag}} is not valid in this version")', 2)
    # Behind a sole refusal, which raises, an else would be superfluous.
    depth = 2 if section.known else 1
    if section.known:
        block.line("else:", 1)
    block.line(f'value, at = tag_value(data, at, size, "{name}")', depth)
    block.line("unknown.append((tag, value))", depth)
    block.line("item.unknown_tags = tuple(unknown)")


@singledispatch
def _read(node: Any, block: Block, target: str, name: str) -> None:
    """Read a node into `target`; `name` is the path of the field."""
    raise TypeError(f"no decoder for {node!r} in {block}, {target}, {name}")


@_read.register
def _(node: Renamed, block: Block, target: str, name: str) -> None:
    _read(node.subcon, block, target, name)


@_read.register
def _(node: FormatField, block: Block, target: str, name: str) -> None:
    block.fixed(code_of(node), target, name)


@_read.register
def _(_node: Flag, block: Block, target: str, name: str) -> None:
    block.fixed("?", target, name)


@_read.register
def _(_node: Bytes, block: Block, target: str, name: str) -> None:
    block.fixed("16s", target, name)


@_read.register
def _(node: Text, block: Block, target: str, name: str) -> None:
    block.fixed("B" if node.compact else "h", "size", name)
    block.flush()
    _cut(node, block, target, f'"{name}"', "text", 'data[at:stop].decode("utf-8", JAVA)')


@_read.register
def _(node: Octets, block: Block, target: str, name: str) -> None:
    block.fixed("B" if node.compact else "i", "size", name)
    block.flush()
    _cut(node, block, target, f'"{name}"', "octets", "data[at:stop]")


def _cut(
    node: Text | Octets, block: Block, target: str, name: str, function: str, value: str
) -> None:
    """Cut a short value out in place; leave everything else to the function of `reading`."""
    stop = "at + size - 1" if node.compact else "at + size"
    if node.nullable:
        block.line(f"if size {'== 0' if node.compact else '< 0'}:")
        block.line(f"{target} = None", 1)
        word, short = "elif", "size < 128 and " if node.compact else ""
    else:
        word, short = "if", "0 < size < 128 and " if node.compact else "size >= 0 and "
    block.line(f"{word} {short}(stop := {stop}) <= end:")
    block.line(f"{target} = {value}", 1)
    block.line("at = stop", 1)
    block.line("else:")
    compact = "compact_" if node.compact else ""
    nullable = "nullable_" if node.nullable else ""
    block.line(f"{target}, at = {compact}{nullable}{function}(data, at, size, {name})", 1)


@_read.register
def _(node: Array, block: Block, target: str, name: str) -> None:
    block.fixed("B" if node.compact else "i", "count", name)
    block.flush()
    compact = "compact_" if node.compact else ""
    nullable = "nullable_" if node.nullable else ""
    least = bytes_min(node.element)
    block.line(f'count, at = {compact}{nullable}array(data, at, count, {least}, "{name}")')
    inner = block
    if node.nullable:
        block.line("if count < 0:")
        block.line(f"{target} = None", 1)
        block.line("else:")
        inner = Block(block.scope, block.indent + 1)
    _elements(node.element, inner, target, name)
    if inner is not block:
        block.lines += inner.lines


def _elements(element: Any, block: Block, target: str, name: str) -> None:
    if isinstance(element, Record):
        function = _nested(element, block, name)
        block.line(f"{target}, at = {function}(data, at, end, count)")
    elif isinstance(element, Text) and not element.nullable:
        function = "compact_texts" if element.compact else "texts"
        block.line(f'{target}, at = {function}(data, at, count, "{name}")')
    elif isinstance(element, FormatField):
        code = code_of(element)
        block.line(f'{target} = unpack_from(f">{{count}}{code}", data, at)')
        block.line(f"at += {element.length} * count")
    else:
        raise TypeError(f"no decoder for an array of {element!r}")


@_read.register
def _(node: NullableRecord, block: Block, target: str, name: str) -> None:
    block.fixed("b", "count", name)
    block.flush()
    block.line("if count < 0:")
    block.line(f"{target} = None", 1)
    block.line("else:")
    function = _nested(node.record, block, name)
    block.line(f"({target},), at = {function}(data, at, end, 1)", 1)


@_read.register
def _(node: Record, block: Block, target: str, name: str) -> None:
    block.flush()
    block.line(f"({target},), at = {_nested(node, block, name)}(data, at, end, 1)")


def bytes_min(node: Any) -> int:
    """Return the least number of bytes that a node takes."""
    match node:
        case Renamed():
            return bytes_min(node.subcon)
        case FormatField() | Bytes():
            return int(node.length)
        case Record():
            tags = 1 if node.tags is not None else 0
            return sum(bytes_min(part) for part in node.subcons) + tags
        case Text() | Octets() | Array() if not node.compact:
            return int(node.plain_length.length)
        case _:
            return 1
