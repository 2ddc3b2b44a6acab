"""``grants:`` of roles, which expand to plain ACLs; roles of the file, and built-in ones.

    roles:
      reporter:
        parameters: [topic, group]
        acls:
          - {resourceType: TOPIC, name: "${topic}", operation: [READ, DESCRIBE]}
          - {resourceType: GROUP, name: "report-${group}", operation: READ}
    grants:
      - {role: producer, principal: "User:pay", topic: [a, {name: pay-, patternType: PREFIXED}]}

A parameter has a name, or several; an ACL that uses an optional parameter without a value is left
out. The pattern type is that of the template, or of the value with which a name ends.
"""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from doorkeeper.acls.formats import values
from doorkeeper.acls.formats.names import FormatError, check_words, short, suggestion, wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from doorkeeper.acls.formats.documents import Path

    Row = dict[str, Any]
    Values = Mapping[str, Sequence["ParameterValue"]]

GRANT_WORDS: Final = ("role", "principal", "host", "patternType")
"""The words of a grant beside the parameters of its role."""
ROLE_WORDS: Final = ("parameters", "optional", "acls")
TEMPLATE_WORDS: Final = ("resourceType", "name", "patternType", "operation", "permissionType")
_NEEDED: Final = ("resourceType", "name", "operation")
_REFERENCE = re.compile(r"\$\$\{|\$\{([^{}]*)\}")


class ParameterValue(Struct, frozen=True):
    """A value of a parameter: a name, and the pattern type of names that end with it."""

    name: str
    pattern_type: str


class Role(Struct, frozen=True):
    """A role: its parameters, the defaults of optional ones (None: no ACL), and its ACLs."""

    required: tuple[str, ...]
    optional: Mapping[str, str | None]
    templates: tuple[Mapping[str, Any], ...]

    @property
    def parameters(self) -> tuple[str, ...]:
        """Return the names of all parameters."""
        return (*self.required, *self.optional)


def variables(value: object) -> dict[str, str]:
    """Return the variables of the value of ``vars``."""
    if not isinstance(value, dict):
        raise wrong(value, "a mapping of names to strings", "vars")
    for name, text in value.items():
        if not isinstance(name, str) or not isinstance(text, str):
            variable = {name: text} if isinstance(name, str) else name
            raise wrong(variable, "a string", "vars", ("vars", str(name)))
    return value


def replace_references(text: str, values: Mapping[str, str], where: str = "variable") -> str:
    """Replace ``${name}`` by a value, and ``$${`` by ``${``."""

    def value_of(match: re.Match[str]) -> str:
        name = match[1]
        # The escape has no group.
        if name is None:
            return "${"
        if name not in values:
            raise FormatError(
                f"${{{name}}}: unknown {where}; allowed:"
                f" {', '.join(values) or 'none'}{suggestion(name, values)}. Write $${{ for a"
                " literal ${"
            )
        return values[name]

    return _REFERENCE.sub(value_of, text)


def roles_of(value: object, built_in: Mapping[str, Role]) -> dict[str, Role]:
    """Return the built-in roles, and those of the value of ``roles``."""
    if not isinstance(value, dict):
        raise wrong(value, "a mapping of names to roles", "roles")
    # A role of the same name in one file would be missed by readers of another.
    roles = dict(built_in)
    for name, role in value.items():
        path = ("roles", str(name))
        # Another meaning of a known name would be overlooked in a review.
        if name in built_in:
            raise FormatError(f"role {name}: the name is used by a built-in role", path=path)
        try:
            roles[str(name)] = _role(role)
        except FormatError as error:
            raise error.at(path, f"role {name}: ") from None
    return roles


def _role(value: object) -> Role:
    role = values.record(value, ROLE_WORDS)
    required, optional = role.get("parameters", []), role.get("optional", {})
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise wrong(required, "a list of names", "parameters")
    if not isinstance(optional, dict) or not all(
        isinstance(name, str) and (default is None or isinstance(default, str))
        for name, default in optional.items()
    ):
        raise wrong(optional, "a mapping of names to a default or null", "optional")
    reserved = sorted({*required, *optional} & set(GRANT_WORDS))
    if reserved:
        raise FormatError(f"parameter name {reserved[0]} is reserved: it is a key of grants")
    templates = role.get("acls")
    if not isinstance(templates, list):
        raise wrong(templates, "a list of mappings", "acls")
    for index, template in enumerate(templates):
        _check_template(template, ("acls", index))
    return Role(tuple(required), optional, tuple(templates))


def _check_template(value: object, path: Path) -> None:
    try:
        template = values.record(value, TEMPLATE_WORDS, _NEEDED)
    except FormatError as error:
        raise error.at(path) from None
    if not isinstance(template["name"], str):
        raise wrong(template["name"], "a string", "name", path)


def rows_of_grant(
    value: object, roles: Mapping[str, Role], variables_: Mapping[str, str]
) -> Iterator[Row]:
    """Yield the records of plain ACLs that a grant stands for."""
    if not isinstance(value, dict):
        raise wrong(value, "a mapping with the keys role, principal and the role's parameters")
    name = value.get("role")
    if not isinstance(name, str) or name not in roles:
        near = suggestion(name, roles) if isinstance(name, str) else ""
        raise FormatError(
            f"role: found {short(name)}; allowed: {', '.join(roles)}{near}", path=("role",)
        )
    role = roles[name]
    check_words(value, (*GRANT_WORDS, *role.parameters))
    missing = [word for word in ("principal", *role.required) if value.get(word) is None]
    if missing:
        raise FormatError(f"missing: {', '.join(missing)}; {name} requires it")

    def text_of(text: str) -> str:
        return replace_references(text, variables_)

    default = value.get("patternType", "LITERAL")
    values: dict[str, tuple[ParameterValue, ...]] = {}
    for word in role.parameters:
        # A null in a grant takes a default away, as a null in the role is none.
        argument = value.get(word, role.optional.get(word))
        if argument is not None:
            values[word] = tuple(_values(word, argument, default, text_of))
    principals = [
        principal.name for principal in _values("principal", value["principal"], "", text_of)
    ]
    hosts = [host.name for host in _values("host", value.get("host", "*"), "", text_of)]
    for template in role.templates:
        for row in _rows(template, role, values, variables_):
            for principal, host in product(principals, hosts):
                yield {**row, "principal": principal, "host": host}


def _values(
    word: str, value: object, pattern_type: object, text_of: Callable[[str], str]
) -> Iterator[ParameterValue]:
    # An empty list would make no ACL, and an owner would lose those that it has.
    for entry in value if isinstance(value, list) and value else [value]:
        name, how = entry, pattern_type
        if isinstance(entry, dict) and pattern_type:
            check_words(entry, ("name", "patternType"), (word,), f"{word}: ")
            name, how = entry.get("name"), entry.get("patternType", pattern_type)
        if not isinstance(name, str) or not isinstance(how, str):
            raise wrong(entry, "a string", word)
        try:
            yield ParameterValue(text_of(name), how.upper())
        except FormatError as error:
            raise error.at((word,), f"{word}: ") from None


def _rows(
    template: Mapping[str, Any], role: Role, values: Values, variables_: Mapping[str, str]
) -> Iterator[Row]:
    name: str = template["name"]
    used = [
        parameter
        for parameter in dict.fromkeys(_REFERENCE.findall(name))
        if parameter in role.parameters
    ]
    # An optional parameter without a value.
    if any(parameter not in values for parameter in used):
        return
    for chosen in product(*(values[parameter] for parameter in used)):
        of_one = dict(zip(used, chosen, strict=True))
        texts = {**variables_, **{parameter: value.name for parameter, value in of_one.items()}}
        row = {word: template[word] for word in template if word != "name"}
        row["name"] = replace_references(name, texts, "parameter or variable")
        # A role that covers names behind a parameter says so, whatever the grant gives.
        if "patternType" not in template:
            row["patternType"] = _pattern_type(name, of_one)
        yield row


def _pattern_type(name: str, values: Mapping[str, ParameterValue]) -> str:
    """Return the pattern type of a name: that of the parameter with which it ends."""
    # Text behind a prefix would be within it: no pattern matches a middle of names.
    last = next((parameter for parameter in values if name.endswith(f"${{{parameter}}}")), None)
    for parameter, value in values.items():
        if parameter != last and value.pattern_type != "LITERAL":
            raise FormatError(
                f"{parameter}: found {value.name!r} with pattern type {value.pattern_type},"
                f" followed by more text in the name {name}; expected: LITERAL"
            )
    return "LITERAL" if last is None else values[last].pattern_type
