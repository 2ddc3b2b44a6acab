"""Lowers a tree to the source of its encoder, and to the layout that names what cannot be encoded.

As in `decoding`, fixed-size fields are collected into runs; runs and texts are pieces, collected
in turn until something needs a statement of its own. The functions append pieces to `out`.
"""

from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import Any

from construct import Bytes, FormatField, Renamed

from doorkeeper_schemas.decoding import Scope
from doorkeeper_schemas.naming import Functions, Structs, code_of
from doorkeeper_wire.declared.nodes import (
    Absent,
    Array,
    Flag,
    NullableRecord,
    Octets,
    Record,
    TagSection,
    Text,
)

_NUMBERS = {"b": "int8", "h": "int16", "H": "uint16", "i": "int32", "q": "int64", "d": "float64"}


@dataclass(slots=True)
class Block:
    """Statements under way, the pieces that they have not written yet, and the run among these."""

    scope: Scope
    indent: int
    out: str = "out"
    lines: list[str] = field(default_factory=list)
    _pieces: list[str] = field(default_factory=list)
    _run: list[tuple[str, str]] = field(default_factory=list)

    def line(self, text: str, deeper: int = 0) -> None:
        """Add a statement."""
        self.lines.append("    " * (self.indent + deeper) + text)

    def fixed(self, code: str, value: str) -> None:
        """Add a field to the run."""
        self._run.append((code, value))

    def piece(self, expression: str) -> None:
        """Add a piece: an expression that gives bytes."""
        self._end_run()
        self._pieces.append(expression)

    def flush(self) -> None:
        """Write the pieces."""
        self._end_run()
        if len(self._pieces) == 1:
            self.line(f"{self.out}.append({self._pieces[0]})")
        elif self._pieces:
            self.line(f"{self.out} += {', '.join(self._pieces)}")
        self._pieces.clear()

    def _end_run(self) -> None:
        if not self._run:
            return
        values = [value for code, value in self._run if code != "x"]
        if values:
            pack = self.scope.structs.named(tuple(code for code, _ in self._run))
            self._pieces.append(f"{pack}({', '.join(values)})")
        else:
            self._pieces.append(repr(bytes(len(self._run))))
        self._run.clear()


def encoder(tree: Record, functions: Functions, structs: Structs, stem: str, version: int) -> str:
    """Make the functions that encode a message in a version; return the name of the outer one."""
    scope = Scope(functions, structs, f"_encode_{stem}", version)
    block = Block(scope, 1)
    _struct(tree, block)
    if not block.lines:
        block.line("del out, item")
    signature = "(out: list[bytes], item: Any) -> None:"
    return functions.named(scope.stem, version, signature, "\n".join(block.lines))


def _struct(record: Record, block: Block) -> None:
    """Write the struct `item`."""
    for absent in record.absent:
        if not absent.ignorable:
            _refuse(absent, block)
    for node in record.subcons:
        if isinstance(node.subcon, Bytes):
            block.line(f"check_uuid(item.{node.name})")
    for node in record.subcons:
        _write(node.subcon, block, f"item.{node.name}", node.name)
    if record.tags is not None:
        _tags(record.tags, block)
    block.flush()


def _refuse(absent: Absent, block: Block) -> None:
    value = f"item.{absent.name}"
    block.line(f"if {_is_set(value, absent.default)}:")
    block.line(f'raise absent("{block.scope.path}{absent.name}", {value})', 1)


def _is_set(value: str, default: object) -> str:
    """Return the condition under which a field differs from its default; null is no empty array."""
    if default is None:
        return f"{value} is not None"
    if default is False or value == "item.unknown_tags":
        return value
    if default is True:
        return f"not {value}"
    return f"{value} != {default!r}"


def _nested(record: Record, block: Block, name: str) -> str:
    """Make the function that writes several structs; return its name."""
    scope = replace(
        block.scope, stem=f"{block.scope.stem}_{name}", path=f"{block.scope.path}{name}."
    )
    inner = Block(scope, 2)
    _struct(record, inner)
    body = ["    for item in items:", *inner.lines]
    signature = "(out: list[bytes], items: Any) -> None:"
    return scope.functions.named(scope.stem, scope.version, signature, "\n".join(body))


def _tags(section: TagSection, block: Block) -> None:
    if not section.known:
        block.fixed("x", "")
        block.flush()
        block.line("if item.unknown_tags:")
        block.line(f"replace_empty_tags({block.out}, item.unknown_tags)", 1)
        return
    block.flush()
    block.line("known: list[tuple[int, bytes]] = []")
    block.line("part: list[bytes]")
    for known in section.known:
        block.line(f"if {_is_set(f'item.{known.name}', known.default)}:")
        block.line("part = []", 1)
        inner = Block(block.scope, block.indent + 1, out="part")
        _write(known.node, inner, f"item.{known.name}", known.name)
        inner.flush()
        block.lines += inner.lines
        block.line(f'known.append(({known.tag}, b"".join(part)))', 1)
    block.line(f"put_tags({block.out}, known, item.unknown_tags)")


@singledispatch
def _write(node: Any, block: Block, value: str, name: str) -> None:
    """Write the expression `value` as the node says; `name` is the field."""
    raise TypeError(f"no encoder for {node!r} in {block}, {value}, {name}")


@_write.register
def _(node: FormatField, block: Block, value: str, name: str) -> None:
    del name
    block.fixed(code_of(node), value)


@_write.register
def _(_node: Flag, block: Block, value: str, name: str) -> None:
    del name
    block.fixed("?", value)


@_write.register
def _(_node: Bytes, block: Block, value: str, name: str) -> None:
    del name
    block.fixed("16s", value)


@_write.register
def _(node: Text, block: Block, value: str, name: str) -> None:
    del name
    block.piece(f"{_text_cache(node)}[{value}]")


def _text_cache(node: Text) -> str:
    compact = "COMPACT_" if node.compact else ""
    nullable = "NULLABLE_" if node.nullable else ""
    return f"{compact}{nullable}TEXT"


@_write.register
def _(node: Octets, block: Block, value: str, name: str) -> None:
    del name
    inner = _unless_null(node, block, value)
    _length(node, inner, value)
    inner.piece(value)
    _end_null(inner, block)


@_write.register
def _(node: Array, block: Block, value: str, name: str) -> None:
    inner = _unless_null(node, block, value)
    _length(node, inner, value)
    _elements(node.element, inner, value, name)
    _end_null(inner, block)


def _elements(element: Any, block: Block, value: str, name: str) -> None:
    if isinstance(element, Record):
        block.flush()
        block.line(f"{_nested(element, block, name)}({block.out}, {value})")
    elif isinstance(element, Text):
        block.flush()
        block.line(f"{block.out} += [{_text_cache(element)}[each] for each in {value}]")
    elif isinstance(element, FormatField):
        block.piece(f'pack(f">{{len({value})}}{code_of(element)}", *{value})')
    else:
        raise TypeError(f"no encoder for an array of {element!r}")


def _unless_null(node: Octets | Array, block: Block, value: str) -> Block:
    """Write null for a null; return the block for the other case."""
    if not node.nullable:
        return block
    block.flush()
    null = b"\x00" if node.compact else b"\xff\xff\xff\xff"
    block.line(f"if {value} is None:")
    block.line(f"{block.out}.append({null!r})", 1)
    block.line("else:")
    return Block(block.scope, block.indent + 1, out=block.out)


def _end_null(inner: Block, block: Block) -> None:
    if inner is not block:
        inner.flush()
        block.lines += inner.lines


def _length(node: Octets | Array, block: Block, value: str) -> None:
    if node.compact:
        block.piece(f"UVARINT[len({value}) + 1]")
    else:
        block.fixed("i", f"len({value})")


@_write.register
def _(node: NullableRecord, block: Block, value: str, name: str) -> None:
    block.fixed("b", f"-1 if {value} is None else 1")
    block.flush()
    block.line(f"if {value} is not None:")
    block.line(f"{_nested(node.record, block, name)}({block.out}, ({value},))", 1)


@_write.register
def _(node: Record, block: Block, value: str, name: str) -> None:
    block.flush()
    block.line(f"{_nested(node, block, name)}({block.out}, ({value},))")


def layout(node: Any) -> str:  # noqa: PLR0911  untyped construct, one return a kind
    """Return the expression of a node's kind, or of the layout of a struct."""
    match node:
        case Record():
            tagged = node.tags.known if node.tags is not None else ()
            parts = [(part.name, layout(part.subcon)) for part in node.subcons]
            parts += [(part.name, layout(part.node)) for part in tagged]
            return f"({''.join(f'({name!r}, {kind}), ' for name, kind in parts)})"
        case NullableRecord():
            return f"Part({layout(node.record)})"
        case Array():
            nullable = ", nullable=True" if node.nullable else ""
            return f"Items({layout(node.element)}{nullable})"
        case Text() | Octets():
            kind = "text" if isinstance(node, Text) else "bytes"
            return repr(f"nullable {kind}" if node.nullable else kind)
        case FormatField():
            return repr(_NUMBERS[code_of(node)])
        case Bytes():
            return repr("uuid")
        case Flag():
            return repr("bool")
        case Renamed():
            return layout(node.subcon)
        case _:
            raise TypeError(f"no layout for {node!r}")
