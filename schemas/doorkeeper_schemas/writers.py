"""Writes the function of a struct that appends its parts to `out`, in all its versions.

Fixed-size fields are collected into runs; runs and texts are pieces, collected in turn until
something needs a statement of its own.
"""

import dataclasses
import re
from dataclasses import dataclass, replace

from doorkeeper_schemas.blocks import FLEXIBLE, Layouts, Scope, runs, scope_of
from doorkeeper_schemas.structs import FIXED, Struct
from doorkeeper_wire.declared.model import NONE, Field


def writer(struct: Struct, layouts: Layouts, several: set[str], *, inline: bool) -> list[str]:
    """Return the lines of the function; `several` are the structs that stand at several places."""
    scope = scope_of(struct, layouts, inline=inline)
    prefix = ", prefix: str" if struct.prefix is None else ""
    is_message = struct.message is not None
    signature = (
        "write(self, out: list[bytes], version: int) -> None:"
        if is_message
        else f'write_all(out: list[bytes], items: "Iterable[{struct.name}]", version: int{prefix})'
        " -> None:"
    )
    body: list[str] = []
    parts = list(scope.parts())
    for number, part in enumerate(parts):
        indent = 2
        if len(parts) > 1:
            body.append("        " + (f"if {scope.is_flexible}:" if number == 0 else "else:"))
            indent += 1
        if not is_message:
            body.append("    " * indent + "for item in items:")
            indent += 1
        block = _Block(part, indent, "self" if is_message else "item", several)
        block.struct()
        body += block.lines or ["    " * indent + "pass"]
    head = []
    if len(parts) == 1 and scope.flexible is None:
        source = "\n".join(body)
        head = [
            f"{name} = COMPACT_{cache} if flexible else {cache}"
            for name, cache in (("string", "TEXT"), ("nullable_string", "NULLABLE_TEXT"))
            if _uses(source, name)
        ]
        if head or _uses(source, FLEXIBLE):
            head = [f"{FLEXIBLE} = {scope.is_flexible}", *head]
    decorator = [] if is_message else ["    @staticmethod"]
    return [*decorator, f"    def {signature}", *(f"        {line}" for line in head), *body]


def _uses(source: str, name: str) -> bool:
    return re.search(rf"(?<![\w.\"]){name}(?![\w\"])", source) is not None


@dataclass(slots=True)
class _Block:
    """Statements under way, the pieces that they have not written yet, and the run among these."""

    scope: Scope
    indent: int
    value: str
    several: set[str]
    out: str = "out"
    lines: list[str] = dataclasses.field(default_factory=list)
    _pieces: list[str] = dataclasses.field(default_factory=list)
    _run: list[tuple[str, str]] = dataclasses.field(default_factory=list)

    def line(self, text: str, deeper: int = 0) -> None:
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
            self.line(f"{self.out} += ({', '.join(self._pieces)})")
        self._pieces.clear()

    def _end_run(self) -> None:
        if not self._run:
            return
        values = [value for code, value in self._run if code != "x"]
        if values:
            pack = self.scope.layouts.named(tuple(code for code, _ in self._run), "pack")
            self._pieces.append(f"{pack}({', '.join(values)})")
        else:
            self._pieces.append(repr(bytes(len(self._run))))
        self._run.clear()

    def struct(self) -> None:
        """Write all fields."""
        self._refusals()
        for field in self.scope.struct.fields:
            if (
                field.kind == "uuid"
                and not field.is_array
                and self.scope.condition(field.versions) is not None
            ):
                self.line(f"check_uuid({self.value}.{field.name})")
        for versions, fields in runs(self.scope.struct.ordinary):
            condition = self.scope.condition(versions)
            if condition:
                self.flush()
                self.line(f"if {condition}:")
                self._deeper(fields)
            elif condition == "":
                for field in fields:
                    self._field(field)
        if self.scope.struct.has_tags:
            self._tags()
        self.flush()

    def _deeper(self, fields: list[Field], out: str = "out", *, inline: bool | None = None) -> None:
        scope = self.scope if inline is None else replace(self.scope, inline=inline)
        inner = _Block(scope, self.indent + 1, self.value, self.several, out)
        for field in fields:
            inner._field(field)
        inner.flush()
        self.lines += inner.lines

    def _refusals(self) -> None:
        """Refuse fields that are set, but that these versions lack."""
        for field in self.scope.struct.fields:
            missing = self.scope.missing(field.versions)
            if field.ignorable or missing is None:
                continue
            value = f"{self.value}.{field.name}"
            self.line(f"if {missing + ' and ' if missing else ''}{_is_set(value, field.default)}:")
            self.line(f"raise absent({self.scope.path(field.name)}, {value})", 1)
        if self.scope.struct.has_tags and self.scope.flexible is not True:
            plain = "not flexible and " if self.scope.flexible is None else ""
            self.line(f"if {plain}{self.value}.unknown_tags:")
            self.line(
                f"raise absent({self.scope.path('unknown_tags')}, {self.value}.unknown_tags)", 1
            )

    def _field(self, field: Field) -> None:
        """Write a field that the versions have."""
        value = f"{self.value}.{field.name}"
        if field.is_array:
            self._array(field, value)
        elif field.kind in FIXED:
            self.fixed(FIXED[field.kind][0], value)
        elif field.kind == "string":
            self.piece(f"{self._texts(field)}[{value}]")
        elif field.kind == "bytes":
            self._length(field, value)
            self.piece(value if self.scope.condition(field.nullable) is None else f'{value} or b""')
        elif field.nullable != NONE:
            self.fixed("b", f"-1 if {value} is None else 1")
            self.flush()
            self.line(f"if {value} is not None:")
            self.line(self._write_all(field, f"({value},)"), 1)
        else:
            self.flush()
            self.line(self._write_all(field, f"({value},)"))

    def _write_all(self, field: Field, values: str) -> str:
        prefix = ""
        if field.kind in self.several:
            prefix = ", " + self.scope.path(f"{field.name}.")
        return f"{field.kind}.write_all({self.out}, {values}, version{prefix})"

    def _texts(self, field: Field, *, nullable: bool = True) -> str:
        """Return the expression of the cache that encodes a text."""
        flexible = self.scope.flexible if field.compact else False
        one, other = (
            ("nullable_string", "string") if flexible is None else ("NULLABLE_TEXT", "TEXT")
        )
        if flexible:
            one, other = f"COMPACT_{one}", f"COMPACT_{other}"
        if not nullable:
            return other
        return self.scope.choice(field, one, other)

    def _length(self, field: Field, value: str) -> None:
        flexible = self.scope.flexible_source
        never = self.scope.condition(field.nullable) is None
        if never and flexible == "False":
            self.fixed("i", f"len({value})")
        elif never and flexible == "True":
            self.piece(f"UVARINT[len({value}) + 1]")
        else:
            function = self.scope.choice(field, "nullable_length", "length")
            self.piece(f"{function}({value}, {flexible})")

    def _array(self, field: Field, value: str) -> None:
        self._length(field, value)
        if self.scope.condition(field.nullable) is not None:
            value = f"{value} or ()"
        if field.is_struct:
            self.flush()
            self.line(self._write_all(field, value))
        elif field.kind == "string":
            self.flush()
            self.line(
                f"{self.out} += [{self._texts(field, nullable=False)}[name] for name in {value}]"
            )
        else:
            size, values = f"len({value})", f"({value})" if " or " in value else value
            self.piece(f'pack(f">{{{size}}}{FIXED[field.kind][0]}", *{values})')

    def _tags(self) -> None:
        scope, value = self.scope, f"{self.value}.unknown_tags"
        if scope.flexible is False:
            return
        known = [
            field for field in scope.struct.tagged if scope.condition(field.versions) is not None
        ]
        if known:
            self._known_tags(known)
        elif scope.inline:
            self.fixed("x", "")
            self.flush()
            self.line(f"if {value}:")
            self.line(f"replace_empty_tags({self.out}, {value})", 1)
        else:
            self.flush()
            if scope.flexible is None:
                self.line("if flexible:")
            self.line(f"put_unknown_tags({self.out}, {value})", scope.flexible is None)

    def _known_tags(self, known: list[Field]) -> None:
        self.flush()
        # Tagged fields are in flexible versions only.
        scope = self.scope.flexible_versions()
        if self.scope.flexible is None:
            self.line("if flexible:")
            self.indent += 1
        self.line("known: list[tuple[int, bytes]] = []")
        self.line("part: list[bytes]")
        for field in known:
            condition = scope.condition(field.versions)
            if (
                condition
                and self.scope.flexible is None
                and field.versions.low <= self.scope.struct.flexible_from
                and field.versions.high >= self.scope.versions.high
            ):
                condition = ""
            is_set = _is_set(f"{self.value}.{field.name}", field.default)
            self.line(f"if {condition + ' and ' if condition else ''}{is_set}:")
            self.line("part = []", 1)
            self._deeper([field], "part", inline=False)
            self.line(f'known.append(({field.tag}, b"".join(part)))', 1)
        self.line(f"put_tags({self.out}, known, {self.value}.unknown_tags)")
        if self.scope.flexible is None:
            self.indent -= 1


def _is_set(value: str, default: object) -> str:
    """Return the condition under which a field differs from its default; null is no empty array."""
    if default is None:
        return f"{value} is not None"
    if default is False:
        return value
    if default is True:
        return f"not {value}"
    return f"{value} != {default!r}"
