"""YAML and JSON of our own: a version, and a list of ACLs with Kafka's words.

    version: 1
    acls:
      - resourceType: TOPIC
        name: orders
        principal: User:alice
        operation: [READ, DESCRIBE]

``patternType``, ``host`` and ``permissionType`` default to LITERAL, * and ALLOW. A record may have
a list of operations. YAML is written so, JSON with a record of all fields for each binding.
``owned_parts`` reads the parts that a file owns, ``roles`` the grants of roles, ``acceptances`` the
accepted findings, ``entities`` the topics, users and quotas.

Source: ``schemas/records/acl_set.json``.
"""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypedDict

from msgspec.structs import replace

from doorkeeper.acls.formats import values
from doorkeeper.acls.formats.acceptances import acceptances
from doorkeeper.acls.formats.acl_set import AclSet
from doorkeeper.acls.formats.block_yaml import read_items, write_items
from doorkeeper.acls.formats.built_in_roles import BUILT_IN
from doorkeeper.acls.formats.documents import json_source, lines_of, yaml_source
from doorkeeper.acls.formats.entities import SECTIONS, entities_of
from doorkeeper.acls.formats.names import FormatError, binding_of, check_words, wrong
from doorkeeper.acls.formats.owned_parts import owned_parts
from doorkeeper.acls.formats.roles import replace_references, roles_of, rows_of_grant, variables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from doorkeeper.acls.formats.acceptances import Acceptance
    from doorkeeper.acls.formats.documents import Path, Source
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.plan import Plan

    Sections = Mapping[str, Iterable[Mapping[str, Any]]]


class AclRecord(TypedDict):
    """An ACL as a record with all fields; its words are Kafka's."""

    resourceType: str
    name: str
    patternType: str
    principal: str
    host: str
    operation: str
    permissionType: str


VERSION = 1
ORIGIN = ("place", "revision")
"""Words for the address of the ACLs and the revision of its store, which readers ignore."""
MEMBERS = ("version", "acls", "owns", "vars", "roles", "grants", "accept", *SECTIONS, *ORIGIN)
"""The members of a document. Those that begin with ``x-`` are ignored: they hold YAML's anchors."""
NEEDED = ("resourceType", "name", "principal", "operation")
DEFAULTS = {"patternType": "LITERAL", "host": "*", "permissionType": "ALLOW"}
_WORDS = (*NEEDED, *DEFAULTS)
HEAD = f"version: {VERSION}\nacls:\n"
"""The beginning of what ``write_yaml`` writes."""


def read(source: Source) -> AclSet:
    """Return the set of a parsed text, its bindings in the text's order."""
    if len(source.documents) > 1:
        count = len(source.documents)
        raise FormatError(f"found {count} documents; expected: one", source.line_of((1,)))
    return _set_of(source.text, source.first)


def read_json(text: str) -> AclSet:
    return read(json_source(text))


def read_yaml(text: str) -> AclSet:
    # What ``write_yaml`` writes is parsed many times as fast.
    items = read_items(text, len(HEAD)) if text.startswith(HEAD) else None
    if items is None:
        return read(yaml_source(text))
    return _set_of(text, {"version": VERSION, "acls": items})


def _set_of(text: str, document: object) -> AclSet:
    line_of = lines_of(text)
    try:
        return replace(set_of_document(document), line_of=line_of)
    except FormatError as error:
        raise FormatError(str(error), line_of(error.path)) from None


def write_json(
    bindings: Iterable[AclBinding],
    origin: Mapping[str, str | int | None] | None = None,
    sections: Sections | None = None,
) -> str:
    """Return bindings as JSON, one on each line; ``origin`` has values for the words of ORIGIN.

    ``sections`` are those of ``entities``, which follow.
    """
    head = "".join(
        f'  "{word}": {json.dumps(value, ensure_ascii=False)},\n'
        for word, value in (origin or {}).items()
    )
    lists = [f'  "acls": {_json_list(records(bindings))}']
    lists += [f'  "{word}": {_json_list(rows)}' for word, rows in (sections or {}).items()]
    body = ",\n".join(lists)
    return f'{{\n  "version": {VERSION},\n{head}{body}\n}}\n'


def _json_list(rows: Iterable[Mapping[str, Any]]) -> str:
    text = ",\n".join(f"    {json.dumps(row, ensure_ascii=False)}" for row in rows)
    return f"[\n{text}\n  ]" if text else "[]"


def write_yaml(bindings: Iterable[AclBinding], sections: Sections | None = None) -> str:
    """Return bindings as block YAML without defaults; ``sections`` as in ``write_json``.

    Bindings that follow each other and differ in their operations only are one record.
    """
    groups = (list(of_one) for _, of_one in groupby(bindings, _all_but_operation))
    rows = "".join(write_items(map(_short_record, groups)))
    text = f"{HEAD}{rows}" if rows else f"version: {VERSION}\nacls: []\n"
    for word, of_one in (sections or {}).items():
        text += f"{word}:\n{''.join(write_items(of_one))}"
    return text


def _all_but_operation(binding: AclBinding) -> object:
    pattern, (principal, host, _, permission) = binding
    return pattern, principal, host, permission


def _short_record(bindings: Sequence[AclBinding]) -> dict[str, str | list[str]]:
    operations = [binding.entry.operation.name for binding in bindings]
    record: Mapping[str, Any] = next(records(bindings))
    return {
        word: operations if word == "operation" and len(operations) > 1 else value
        for word, value in record.items()
        if value != DEFAULTS.get(word)
    }


def records(bindings: Iterable[AclBinding]) -> Iterator[AclRecord]:
    """Yield each binding as a record with all fields."""
    for (resource_type, name, pattern_type), entry in bindings:
        yield {
            "resourceType": resource_type.name,
            "name": name,
            "patternType": pattern_type.name,
            "principal": entry.principal,
            "host": entry.host,
            "operation": entry.operation.name,
            "permissionType": entry.permission_type.name,
        }


def record_of_changes(plan: Plan) -> dict[str, Any]:
    """Return the changes of a plan, as a file of ``acls apply --plan`` has them."""
    return {
        "version": VERSION,
        "added": list(records(plan.added)),
        "removed": list(records(plan.removed)),
        "kept": plan.unchanged,
        "foreign": plan.foreign,
    }


def from_document(document: object) -> list[AclBinding]:
    """Return the bindings of a parsed document."""
    return set_of_document(document).bindings


def set_of_document(document: object) -> AclSet:
    """Return the set of a parsed document; lines are unknown."""
    if not isinstance(document, dict):
        raise wrong(document, "a mapping with version and acls")
    values.check_version(document, VERSION)
    check_words([word for word in document if not str(word).startswith("x-")], MEMBERS)
    text_of = _text_reader(document)
    owned = owned_parts(document["owns"], text_of) if "owns" in document else ()
    bindings: list[AclBinding] = []
    paths: list[Path] = []
    for path, of_row in _rows(document, text_of):
        bindings += of_row
        paths += [path] * len(of_row)
    accepted: tuple[Acceptance, ...] = ()
    if "accept" in document:
        accepted = acceptances(document["accept"], text_of)
    entities = entities_of(document, text_of)
    return AclSet(bindings, tuple(paths), owned, accepted, entities)


def _rows(
    document: dict[str, Any], text_of: Callable[[str], str]
) -> Iterator[tuple[Path, list[AclBinding]]]:
    """Yield the path and the bindings of each ACL and each grant."""
    may_lack = any(word in document for word in ("grants", *SECTIONS))
    acls = document.get("acls", [] if may_lack else None)
    yield from values.rows(lambda row: list(_bindings(row, text_of)), acls, "acls")
    if not {"grants", "roles"} & document.keys():
        return
    roles = roles_of(document.get("roles", {}), BUILT_IN)
    variables_ = variables(document.get("vars", {}))

    def granted(grant: object) -> list[AclBinding]:
        # The texts of a grant have no variables any more.
        rows = rows_of_grant(grant, roles, variables_)
        return [binding for row in rows for binding in _bindings(row, _as_it_stands)]

    yield from values.rows(granted, document.get("grants", []), "grants")


def _as_it_stands(text: str) -> str:
    # Not str: in mappings of Python programs a name may be a member of an enum, which is a text.
    return text


def _text_reader(document: dict[str, Any]) -> Callable[[str], str]:
    """Return a function that replaces variables; without ``vars`` texts are as they stand."""
    if "vars" not in document:
        return _as_it_stands
    replaced = variables(document["vars"])
    return lambda text: replace_references(text, replaced)


def _bindings(row: object, text_of: Callable[[str], str]) -> Iterator[AclBinding]:
    fields = values.record(row, _WORDS, NEEDED)
    operations = fields["operation"]
    words: dict[str, Any] = DEFAULTS | {
        word: fields[word] for word in fields if word != "operation"
    }
    for operation in operations if isinstance(operations, list) and operations else [operations]:
        for word, value in (*words.items(), ("operation", operation)):
            if not isinstance(value, str):
                raise wrong(value, "a string", word)
        yield binding_of(
            resource=words["resourceType"],
            name=text_of(words["name"]),
            pattern=words["patternType"],
            principal=text_of(words["principal"]),
            host=text_of(words["host"]),
            does=operation,
            permission=words["permissionType"],
        )
