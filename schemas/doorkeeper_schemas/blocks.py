"""What the writers of readers and of writers share: lines of source, and conditions on versions."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import groupby

from doorkeeper_schemas.structs import Struct
from doorkeeper_wire.declared.model import Field, Versions

FLEXIBLE = "flexible"
"""The variable that says, where versions of both kinds are handled, which one this is."""


@dataclass(slots=True)
class Layouts:
    """The struct.Struct constants of one module, and their functions, by their codes."""

    _used: set[tuple[tuple[str, ...], str]] = field(default_factory=set)

    def named(self, codes: tuple[str, ...], use: str) -> str:
        """Return the name of a run's layout, or of its function: `pack` or `unpack`."""
        self._used.add((codes, use))
        return f"_{use}_" + "_".join(_WORDS[code] for code in codes)

    def source(self) -> str:
        """Return the assignments of all constants."""
        methods = {"layout": "", "pack": ".pack", "unpack": ".unpack_from"}
        return "\n".join(
            f'{self.named(codes, use)} = Struct(">{"".join(codes)}"){methods[use]}'
            for codes, use in sorted(self._used)
        )


_WORDS = {
    "b": "int8",
    "h": "int16",
    "H": "uint16",
    "i": "int32",
    "q": "int64",
    "d": "float64",
    "?": "bool",
    "16s": "uuid",
    "B": "byte",
    "x": "zero",
}


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a body is written: the struct, the versions that come here, and what is known of them.

    `flexible` is None where the body handles flexible and other versions.
    """

    struct: Struct
    versions: Versions
    layouts: Layouts
    inline: bool

    @property
    def flexible(self) -> bool | None:
        """Whether the versions are flexible; None if some are."""
        if self.versions.low >= self.struct.flexible_from:
            return True
        return None if self.versions.high >= self.struct.flexible_from else False

    @property
    def is_flexible(self) -> str:
        """The condition for flexible versions."""
        return f"version >= {self.struct.flexible_from}"

    @property
    def flexible_source(self) -> str:
        """The expression for `flexible`."""
        return FLEXIBLE if self.flexible is None else str(self.flexible)

    def path(self, name: str) -> str:
        """Return the expression of a field's path."""
        prefix = self.struct.prefix
        return f'prefix + "{name}"' if prefix is None else f'"{prefix}{name}"'

    def condition(self, versions: Versions) -> str | None:
        """Return the condition for some versions: "" if always, None if never."""
        low, high = max(versions.low, self.versions.low), min(versions.high, self.versions.high)
        if low > high:
            return None
        if low == self.versions.low:
            return "" if high == self.versions.high else f"version <= {high}"
        if high == self.versions.high:
            return f"version >= {low}"
        return f"version == {low}" if low == high else f"{low} <= version <= {high}"

    def missing(self, versions: Versions) -> str | None:
        """Return the condition for all other versions: "" if always, None if never."""
        condition = self.condition(versions)
        if condition is None:
            return ""
        if not condition:
            return None
        for sign, other in ((" >= ", " < "), (" <= ", " > "), (" == ", " != ")):
            if condition.count("version" + sign) and condition.startswith("version"):
                return condition.replace(sign, other)
        return f"not {condition}"

    def flexible_versions(self) -> "Scope":
        """Return the scope of those versions that are flexible."""
        low = max(self.versions.low, self.struct.flexible_from)
        return replace(self, versions=Versions(low, self.versions.high))

    def nullability(self, field: Field) -> tuple[bool, bool]:
        """Return whether a field may be null wherever it is, and whether it never may."""
        condition = self.condition(field.nullable)
        return condition == "" or field.nullable == field.versions, condition is None

    def choice(self, field: Field, one: str, other: str) -> str:
        """Return `one` for the versions in which a field may be null, `other` for the rest."""
        always, never = self.nullability(field)
        if always or never:
            return one if always else other
        return f"({one} if {self.condition(field.nullable)} else {other})"

    def parts(self) -> Iterable["Scope"]:
        """Yield the scopes of the bodies: in line, one for versions of each kind."""
        border = self.struct.flexible_from
        if not self.inline or self.flexible is not None:
            yield self
            return
        for versions in (
            Versions(border, self.versions.high),
            Versions(self.versions.low, border - 1),
        ):
            yield Scope(self.struct, versions, self.layouts, self.inline)


def scope_of(struct: Struct, layouts: Layouts, *, inline: bool) -> Scope:
    """Return the scope of a whole struct."""
    return Scope(struct, struct.versions, layouts, inline)


def runs(fields: Iterable[Field]) -> Iterable[tuple[Versions, list[Field]]]:
    """Yield successive fields that the same versions have."""
    for versions, group in groupby(fields, key=lambda field: field.versions):
        yield versions, list(group)
