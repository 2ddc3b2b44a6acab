"""The structs of a module, each with the places where it stands and the versions that have it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from doorkeeper_wire.declared.model import NONE, PLAIN_DEFAULTS, Field, Message, Module, Versions
from doorkeeper_wire.declared.schema_file import SchemaError

FIXED = {
    "bool": ("?", 1),
    "int8": ("b", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "int64": ("q", 8),
    "float64": ("d", 8),
    "uuid": ("16s", 16),
}
"""The types of a fixed size: struct code and bytes."""


_TYPES = {
    "bool": "bool",
    "int8": "int",
    "int16": "int",
    "uint16": "int",
    "int32": "int",
    "int64": "int",
    "float64": "float",
    "string": "str",
    "bytes": "bytes",
    "uuid": "bytes",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Struct:
    """A struct, or a whole message.

    `has_tags` says whether any version of its message is flexible. `prefix` is the path of its
    fields, with a dot at the end; None for a struct that stands at several places, whose functions
    are given it. `root` is the message that it is in.
    """

    name: str
    fields: tuple[Field, ...]
    meaning: str
    versions: Versions
    flexible_from: int
    has_tags: bool
    prefix: str | None
    root: str
    message: Message | None = None

    @property
    def ordinary(self) -> list[Field]:
        """The fields without a tag, in their order on the wire."""
        return [field for field in self.fields if field.tag is None]

    @property
    def tagged(self) -> list[Field]:
        """The known tagged fields."""
        return [field for field in self.fields if field.tag is not None]


def structs(module: Module) -> list[Struct]:
    """Return the structs of a module, inner ones before those that hold them.

    Raises:
        SchemaError: two structs of a name differ.
    """
    found: dict[str, Struct] = {}
    for message in module.messages:
        for struct in (*_inner(message, message.fields, message.versions, ""), _whole(message)):
            before = found.setdefault(struct.name, struct)
            if before is struct:
                continue
            if [_form(field) for field in before.fields] != [
                _form(field) for field in struct.fields
            ]:
                raise SchemaError(f"{module.name}.yaml: {struct.name} has two forms")
            pairs = zip(before.fields, struct.fields, strict=True)
            found[struct.name] = replace(
                before,
                prefix=None,
                versions=_both(before.versions, struct.versions),
                fields=tuple(_merged(one, other) for one, other in pairs),
            )
    # What stands at several places has no path of its own, and so have the structs in it.
    for struct in [each for each in found.values() if each.prefix is None]:
        _without_paths(struct, found)
    return list(found.values())


def _whole(message: Message) -> Struct:
    return Struct(
        name=message.name,
        fields=message.fields,
        meaning=message.meaning,
        versions=message.versions,
        flexible_from=message.flexible_from,
        has_tags=message.flexible_from <= message.versions.high,
        prefix="",
        root=message.name,
        message=message,
    )


def _inner(
    message: Message, fields: tuple[Field, ...], versions: Versions, path: str
) -> Iterator[Struct]:
    for field in fields:
        if not field.is_struct:
            continue
        inner = Versions(
            max(versions.low, field.versions.low), min(versions.high, field.versions.high)
        )
        prefix = f"{path}{field.name}."
        yield from _inner(message, field.fields, inner, prefix)
        lead = f"Of {field.name}: {field.meaning[0].lower()}{field.meaning[1:]}"
        yield Struct(
            name=field.kind,
            fields=field.fields,
            meaning=lead if field.is_array else field.meaning,
            versions=inner,
            flexible_from=message.flexible_from,
            has_tags=message.flexible_from <= message.versions.high,
            prefix=prefix,
            root=message.name,
        )


def _form(field: Field) -> Field:
    """Return what must be the same wherever a struct stands; its places have different versions."""
    inner = tuple(_form(each) for each in field.fields)
    return replace(field, meaning="", resource="", versions=NONE, nullable=NONE, fields=inner)


def _merged(one: Field, other: Field) -> Field:
    inner = tuple(_merged(*pair) for pair in zip(one.fields, other.fields, strict=True))
    return replace(
        one,
        versions=_both(one.versions, other.versions),
        nullable=_both(one.nullable, other.nullable),
        fields=inner,
    )


def _both(one: Versions, other: Versions) -> Versions:
    return Versions(min(one.low, other.low), max(one.high, other.high))


def _without_paths(struct: Struct, found: dict[str, Struct]) -> None:
    for field in struct.fields:
        if field.is_struct and found[field.kind].prefix is not None:
            found[field.kind] = replace(found[field.kind], prefix=None)
            _without_paths(found[field.kind], found)


def bytes_min(field: Field, flexible_from: int, version: int, *, is_element: bool = False) -> int:
    """Return the least number of bytes that a field, or an element of it, takes in a version."""
    flexible = version >= flexible_from
    if field.is_array and not is_element:
        return 1 if flexible else 4
    if field.is_struct:
        if field.nullable.low <= field.nullable.high and not is_element:
            return 1
        inner = (each for each in field.fields if each.tag is None and version in each.versions)
        return sum(bytes_min(each, flexible_from, version) for each in inner) + flexible
    if field.kind in FIXED:
        return FIXED[field.kind][1]
    assert field.kind in PLAIN_DEFAULTS
    plain = 2 if field.kind == "string" else 4
    return 1 if flexible and field.compact else plain


def type_of(field: Field) -> str:
    """Return the annotation of a field."""
    inner = _TYPES.get(field.kind, field.kind)
    found = f"tuple[{inner}, ...]" if field.is_array else inner
    optional = field.nullable.low <= field.nullable.high or field.default is None
    return f"{found} | None" if optional else found
