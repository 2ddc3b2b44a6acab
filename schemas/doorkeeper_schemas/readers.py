"""Writes the function of a struct that reads it, in all its versions.

A message is read by `read(data, at, version)`, other structs are read several at a time by
`read_all(data, at, n, version)`. Both keep `at` at the first byte not yet read.
"""

import dataclasses
from dataclasses import dataclass, replace
from struct import calcsize

from doorkeeper_schemas.blocks import FLEXIBLE, Layouts, Scope, runs, scope_of
from doorkeeper_schemas.structs import FIXED, Struct, bytes_min, type_of
from doorkeeper_wire.declared.model import NONE, Field


def reader(struct: Struct, layouts: Layouts, several: set[str], *, inline: bool) -> list[str]:
    """Return the lines of the function; `several` are the structs that stand at several places."""
    scope = scope_of(struct, layouts, inline=inline)
    prefix = ", prefix: str" if struct.prefix is None else ""
    is_message = struct.message is not None
    signature = (
        f'read(data: bytes, at: int, version: int) -> tuple["{struct.name}", int]:'
        if is_message
        else f"read_all(data: bytes, at: int, n: int, version: int{prefix})"
        f' -> tuple[tuple["{struct.name}", ...], int]:'
    )
    head = [] if is_message else ["found = []"]
    body: list[str] = []
    parts = list(scope.parts())
    for number, part in enumerate(parts):
        indent = 2
        if len(parts) > 1:
            body.append("        " + (f"if {scope.is_flexible}:" if number == 0 else "else:"))
            indent += 1
        if not is_message:
            body.append("    " * indent + "for _ in range(n):")
            indent += 1
        block = _Block(part, indent, several)
        block.struct()
        made = f"{struct.name}({', '.join(block.names)})"
        block.line(f"return {made}, at" if is_message else f"found.append({made})")
        body += block.lines
    source = "\n".join(body)
    if "<= end" in source or "(end - at)" in source:
        head.append("end = len(data)")
    if len(parts) == 1 and scope.flexible is None:
        head.append(f"{FLEXIBLE} = {scope.is_flexible}")
    tail = [] if is_message else ["        return tuple(found), at"]
    return [
        "    @staticmethod",
        f"    def {signature}",
        *(f"        {line}" for line in head),
        *body,
        *tail,
    ]


@dataclass(slots=True)
class _Block:
    """Statements under way, and the run of fixed-size fields that they have not read yet."""

    scope: Scope
    indent: int
    several: set[str]
    lines: list[str] = dataclasses.field(default_factory=list)
    _run: list[tuple[str, str, str]] = dataclasses.field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The values of the struct, in the order of its fields."""
        struct = self.scope.struct
        return [field.name for field in struct.fields] + (
            ["unknown_tags"] if struct.has_tags else []
        )

    def line(self, text: str, deeper: int = 0) -> None:
        self.lines.append("    " * (self.indent + deeper) + text)

    def struct(self) -> None:
        """Read all fields into variables of their names."""
        for versions, fields in runs(self.scope.struct.ordinary):
            condition = self.scope.condition(versions)
            if condition is None:
                self._defaults(fields)
            elif not condition:
                self._fields(fields)
            else:
                self.flush()
                self.line(f"if {condition}:")
                self._deeper(fields, self.scope)
                self.line("else:")
                self.indent += 1
                self._defaults(fields)
                self.indent -= 1
        if self.scope.struct.has_tags:
            self._tags()
        self.flush()

    def _deeper(self, fields: list[Field], scope: Scope) -> None:
        inner = _Block(scope, self.indent + 1, self.several)
        inner._fields(fields)
        inner.flush()
        self.lines += inner.lines

    def _defaults(self, fields: list[Field]) -> None:
        for field in fields:
            self.line(f"{field.name} = {field.default!r}")

    def _fields(self, fields: list[Field]) -> None:
        for field in fields:
            self._field(field)

    def fixed(self, code: str, target: str, name: str) -> None:
        """Add a field to the run: its struct code, what it is assigned to, and its path."""
        self._run.append((code, target, name))

    def flush(self) -> None:
        """Read the run."""
        if not self._run:
            return
        codes, targets, names = zip(*self._run, strict=True)
        assigned = ", ".join(targets) if len(targets) > 1 else f"({targets[0]},)"
        paths = ", ".join(self.scope.path(name) for name in names)
        if not self.scope.inline:
            layout = self.scope.layouts.named(codes, "layout")
            self.line(f"{assigned} = fixed({layout}, data, at, {paths})")
        else:
            self.line("try:")
            if codes == ("B",):
                # A third of the price of a struct; `at` is never negative.
                self.line(f"{targets[0]} = data[at]", 1)
                self.line("except IndexError:")
            else:
                unpack = self.scope.layouts.named(codes, "unpack")
                self.line(f"{assigned} = {unpack}(data, at)", 1)
                self.line("except StructError:")
            self.line(f'raise truncation(data, at, "{" ".join(codes)}", {paths}) from None', 1)
        self.line(f"at += {calcsize('>' + ''.join(codes))}")
        self._run.clear()

    def _field(self, field: Field) -> None:
        """Read a field that the versions have."""
        name = field.name
        if field.is_array:
            self._array(field)
        elif field.kind in FIXED:
            self.fixed(FIXED[field.kind][0], name, name)
        elif field.kind in {"string", "bytes"}:
            self._sized(field)
        elif field.nullable != NONE:
            self.fixed("b", "present", name)
            self.flush()
            read = self._read_all(field, "1")
            self.line(f"({name},), at = {read} if present >= 0 else ((None,), at)")
        else:
            self.flush()
            self.line(f"({name},), at = {self._read_all(field, '1')}")

    def _read_all(self, field: Field, count: str) -> str:
        prefix = ""
        if field.kind in self.several:
            prefix = ", " + self.scope.path(f"{field.name}.")
        return f"{field.kind}.read_all(data, at, {count}, version{prefix})"

    def _is_flexible(self, field: Field) -> str:
        return self.scope.flexible_source if field.compact else "False"

    def _sized(self, field: Field) -> None:
        word = "text" if field.kind == "string" else "octets"
        path = self.scope.path(field.name)
        always, never = self.scope.nullability(field)
        if not self.scope.inline or not (always or never):
            self.flush()
            function = self.scope.choice(field, f"read_nullable_{word}", f"read_{word}")
            self.line(
                f"{field.name}, at = {function}(data, at, {self._is_flexible(field)}, {path})"
            )
            return
        compact = self._is_flexible(field) == "True"
        self.fixed("B" if compact else "h" if word == "text" else "i", "size", field.name)
        self.flush()
        value = 'data[at:stop].decode("utf-8", JAVA)' if word == "text" else "data[at:stop]"
        keyword, short = "if", "0 < size < 128 and " if compact else "size >= 0 and "
        if always:
            self.line(f"if size {'== 0' if compact else '< 0'}:")
            self.line(f"{field.name} = None", 1)
            keyword, short = "elif", "size < 128 and " if compact else ""
        self.line(f"{keyword} {short}(stop := at + size{' - 1' if compact else ''}) <= end:")
        self.line(f"{field.name} = {value}", 1)
        self.line("at = stop", 1)
        self.line("else:")
        function = f"{'compact_' if compact else ''}{'nullable_' if always else ''}{word}"
        self.line(f"{field.name}, at = {function}(data, at, size, {path})", 1)

    def _least(self, field: Field) -> str:
        """Return the expression of the least size of an element."""
        low = max(self.scope.versions.low, field.versions.low)
        high = min(self.scope.versions.high, field.versions.high)
        flexible_from = self.scope.struct.flexible_from
        found = [
            bytes_min(field, flexible_from, version, is_element=True)
            for version in range(low, high + 1)
        ]
        if len(set(found)) == 1:
            return str(found[0])
        return f"({', '.join(map(str, found))})[version{f' - {low}' if low else ''}]"

    def _array(self, field: Field) -> None:
        name, path = field.name, self.scope.path(field.name)
        flexible = self._is_flexible(field)
        always, never = self.scope.nullability(field)
        least = self._least(field)
        if self.scope.inline and (always or never):
            compact = flexible == "True"
            self.fixed("B" if compact else "i", "size", name)
            self.flush()
            judge = f"{'compact_' if compact else ''}{'nullable_' if always else ''}array"
            # Of most arrays the bytes are there, and their elements are not counted.
            fits = f"<= (end - at) // {least} and data.__class__ is bytes:"
            if compact:
                self.line(f"if 0 < size < 128 and size - 1 {fits}")
                self.line("size -= 1", 1)
                self.line("else:")
            else:
                self.line(f"if not (0 <= size {fits[:-1]}):")
            self.line(f"size, at = {judge}(data, at, size, {least}, {path})", 1)
        else:
            self.flush()
            count = self.scope.choice(field, "read_nullable_count", "read_count")
            self.line(f"size, at = {count}(data, at, {flexible}, {least}, {path})")
        if field.is_struct:
            read = self._read_all(field, "size")
        elif field.kind == "string":
            read = f"texts(data, at, size, {flexible}, {path})"
        else:
            read = f'numbers(data, at, size, "{FIXED[field.kind][0]}")'
        self.line(f"{name}, at = {read}" + ("" if never else " if size >= 0 else (None, at)"))

    def _tags(self) -> None:
        scope, path = self.scope, self.scope.path("unknown_tags")
        known = scope.struct.tagged
        if scope.flexible is False:
            self._defaults(known)
            self.line("unknown_tags = NO_TAGS")
            return
        if known:
            self._known_tags(known)
        elif not scope.inline:
            self.flush()
            read = f"read_tags(data, at, {path})"
            otherwise = " if flexible else ((), at)" if scope.flexible is None else ""
            self.line(f"unknown_tags, at = {read}{otherwise}")
        else:
            self.fixed("B", "tagged", "unknown_tags")
            self.flush()
            self.line("unknown_tags = NO_TAGS")
            self.line("if tagged:")
            self.line(f"unknown_tags, at = tags(data, at, tagged, {path})", 1)

    def _known_tags(self, known: list[Field]) -> None:
        scope, path = self.scope, self.scope.path("unknown_tags")
        self.flush()
        for field in known:
            self.line(f"{field.name}: {type_of(field)} = {field.default!r}")
        self.line("unknown: list[tuple[int, bytes]] = []")
        head = f"tagged, at = read_tag_count(data, at, {path})"
        self.line(head + (" if flexible else (0, at)" if scope.flexible is None else ""))
        self.line("for _ in range(tagged):")
        self.indent += 1
        self.line(f"tag, size, at = tag_head(data, at, {path})")
        # Tagged fields are in flexible versions only.
        inner = scope.flexible_versions()
        for field in known:
            missing = inner.missing(field.versions)
            if missing is not None:
                self.line(f"if tag == {field.tag}" + (f" and {missing}:" if missing else ":"))
                text = 'f"tag {tag} is not valid in this version"'
                self.line(f"raise Malformed({path}, at, {text})", 1)
        word = "if"
        for field in known:
            if scope.condition(field.versions) is None:
                continue
            self.line(f"{word} tag == {field.tag}:")
            self._deeper([field], replace(scope, inline=False))
            word = "elif"
        if word == "elif":
            self.line("else:")
        deeper = 1 if word == "elif" else 0
        self.line(f"content, at = tag_value(data, at, size, {path})", deeper)
        self.line("unknown.append((tag, content))", deeper)
        self.indent -= 1
        self.line("unknown_tags = tuple(unknown)")
