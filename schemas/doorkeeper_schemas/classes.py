"""Writes the classes of a module: one for each message and struct, for all versions of it."""

from doorkeeper_schemas.model import NEVER, Field, Message, Module
from doorkeeper_schemas.reading import SchemaError

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
_UNKNOWN_TAGS = ("unknown_tags", "Tags", "()", "Tagged fields that this code does not know.")


def class_sources(module: Module) -> list[str]:
    """Return the source of each class, inner structs before those that hold them.

    Raises:
        SchemaError: when two structs of a name differ.
    """
    sources: dict[str, str] = {}
    for message in module.messages:
        flexible = message.flexible_from <= message.versions.high
        _collect(message.fields, sources, module, flexible=flexible)
        sources[message.name] = _class(
            message.name,
            message.fields,
            flexible=flexible,
            meaning=_message_meaning(message, module),
            constants=_constants(message),
            base="Message",
        )
    return list(sources.values())


def class_names(module: Module) -> list[str]:
    """Return the names of all classes of a module."""
    found: dict[str, None] = {}

    def visit(fields: tuple[Field, ...]) -> None:
        for field in fields:
            if field.is_struct:
                found[field.kind] = None
                visit(field.fields)

    for message in module.messages:
        found[message.name] = None
        visit(message.fields)
    return sorted(found)


def _collect(
    fields: tuple[Field, ...], sources: dict[str, str], module: Module, *, flexible: bool
) -> None:
    for field in fields:
        if not field.is_struct:
            continue
        _collect(field.fields, sources, module, flexible=flexible)
        source = _class(
            field.kind,
            field.fields,
            flexible=flexible,
            meaning=f"Of {field.name}: {field.meaning[0].lower()}{field.meaning[1:]}"
            if field.is_array
            else field.meaning,
            constants=[],
            base="Record",
        )
        if field.kind in sources:
            if _without_docstrings(sources[field.kind]) != _without_docstrings(source):
                raise SchemaError(f"{module.name}.yaml: {field.kind} has two forms")
            continue
        sources[field.kind] = source


def _without_docstrings(source: str) -> str:
    return "".join(source.split('"""')[::2])


def _message_meaning(message: Message, module: Module) -> str:
    for suffix in ("Request", "Response"):
        if message.api_key >= 0 and message.name.endswith(suffix):
            return f"The {suffix.lower()} of {message.name.removesuffix(suffix)}."
    return module.meaning


def _constants(message: Message) -> list[str]:
    flexible = message.flexible_from
    return [
        *([f"API_KEY = {message.api_key}"] if message.api_key >= 0 else []),
        f"MIN_VERSION = {message.versions.low}",
        f"MAX_VERSION = {message.versions.high}",
        f"FLEXIBLE_FROM = {'NEVER' if flexible == NEVER else flexible}",
    ]


def _class(
    name: str,
    fields: tuple[Field, ...],
    *,
    flexible: bool,
    meaning: str,
    constants: list[str],
    base: str,
) -> str:
    rows = [(field.name, _type(field), repr(field.default), _explained(field)) for field in fields]
    if flexible:
        rows.append(_UNKNOWN_TAGS)
    secrets = "".join(f'"{field.name}", ' for field in fields if field.secret)
    slots = "".join(f'"{row[0]}", ' for row in rows)
    annotations = [f"    {row[0]}: {row[1]}" for row in rows]
    arguments = "".join(f"{row[0]}: {row[1]} = {row[2]}, " for row in rows)
    star = "*, " if rows else ""
    explained = [f"        {row[0]}: {row[3]}" for row in rows]
    return "\n".join(
        [
            f"class {name}Draft({base}):",
            f'    """{name} while it is made."""',
            "",
            f"    __slots__ = ({slots})",
            "    FIELDS = __slots__",
            *([f"    SECRETS = ({secrets})"] if secrets else []),
            *annotations,
            "",
            "",
            f"class {name}(Frozen, {name}Draft):",
            f'    """{meaning}' + ("" if rows else '"""'),
            *(["", "    Attributes:", *explained, '    """'] if rows else []),
            "",
            "    __slots__ = ()",
            *(f"    {line}" for line in constants),
            "",
            f"    def __new__(cls, {star}{arguments}) -> Self:",
            f"        self = new({name}Draft)",
            *(f"        self.{row[0]} = {row[0]}" for row in rows),
            "        self.__class__ = cls",
            '        return cast("Self", self)',
        ]
    )


def _type(field: Field) -> str:
    inner = _TYPES.get(field.kind, field.kind)
    found = f"tuple[{inner}, ...]" if field.is_array else inner
    optional = field.nullable.low <= field.nullable.high or field.default is None
    return f"{found} | None" if optional else found


def _explained(field: Field) -> str:
    low, high = field.versions.low, field.versions.high
    return f"{field.meaning} ({low} to {high})" if low != high else f"{field.meaning} ({low})"
