"""Messages as kafka-clients defines them, to declare those of an API in ``schemas/messages``.

``PYTHONPATH=tools:tests python -m kafka_messages kafka-clients-4.4.0.jar ShareFetch ...`` writes a
file for each of the APIs, without meanings: so it is an API that Doorkeeper refuses. The fields
that name a resource which the API needs, by schemas/apis.yaml, have it as their ``resource``;
ids of topics are to be marked by hand.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorkeeper.server.api.operations import REQUIRED
from doorkeeper_wire.declared.model import NEVER, NONE, PLAIN_DEFAULTS, Empty, Versions
from doorkeeper_wire.declared.schema_file import FOLDER, snake

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper_wire.declared.model import Field, Message

RESOURCES = {"topicName": "TOPIC", "groupId": "GROUP", "transactionalId": "TRANSACTIONAL_ID"}


def definitions(jar: Path) -> dict[int, tuple[dict[str, Any], dict[str, Any]]]:
    """Return the definitions of requests and responses by key; not those that 4.0 removed."""
    found: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if (match := re.fullmatch(r"common/message/(\w+)Request\.json", name)) is None:
                continue
            request, response = (
                _definition(archive, f"common/message/{match[1]}{kind}.json")
                for kind in ("Request", "Response")
            )
            if request["validVersions"] != "none":
                found[request["apiKey"]] = request, response
    return found


def _definition(archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    text = archive.read(name).decode()
    text = re.sub(r'^\s*//.*$|\s//[^"\n]*$', "", text, flags=re.MULTILINE)
    found: dict[str, Any] = json.loads(text)
    return found


def shape(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what the definition of a message says of its fields, as ``declared_shape`` does."""
    structs = {each["name"]: each["fields"] for each in message.get("commonStructs", ())}
    return _in_order(list(_shapes(message["fields"], structs, _range(message["validVersions"]))))


def declared_shape(message: Message, versions: Versions) -> list[dict[str, Any]]:
    """Return what a schema says of the fields of a message in some versions."""
    return _in_order(list(_declared_shapes(message.fields, versions)))


def _in_order(shapes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return fields in the order of the wire: the place of a tagged field means nothing."""
    return sorted(shapes, key=lambda shape: -1 if shape["tag"] is None else shape["tag"])


def _shapes(
    fields: list[dict[str, Any]], structs: dict[str, Any], outer: Versions
) -> Iterator[dict[str, Any]]:
    for field in fields:
        versions = _common(_range(field.get("taggedVersions", field["versions"])), outer)
        if versions == NONE:
            continue
        assert field.get("taggedVersions", field["versions"]) == field["versions"]
        is_array = field["type"].startswith("[]")
        kind = field["type"].removeprefix("[]").replace("records", "bytes")
        inner = field.get("fields") or structs.get(kind)
        nullable = _common(_range(field.get("nullableVersions", "none")), versions)
        yield {
            "name": snake(field["name"]),
            "kind": "struct" if inner else kind,
            "is_array": is_array,
            "versions": versions,
            "nullable": nullable,
            "tag": field.get("tag"),
            # Kafka's records are null in a new message; what cannot be null begins empty here.
            "default": None
            if field["type"] == "records" and nullable != NONE
            else _default(field.get("default"), kind, is_array=is_array),
            "ignorable": field.get("ignorable", False),
            "fields": _in_order(list(_shapes(inner or [], structs, versions))),
        }


def _declared_shapes(fields: tuple[Field, ...], outer: Versions) -> Iterator[dict[str, Any]]:
    for field in fields:
        versions = _common(field.versions, outer)
        if versions == NONE:
            continue
        yield {
            "name": field.name,
            "kind": "struct" if field.is_struct else field.kind,
            "is_array": field.is_array,
            "versions": versions,
            "nullable": _common(field.nullable, versions),
            "tag": field.tag,
            "default": "struct" if isinstance(field.default, Empty) else field.default,
            "ignorable": field.ignorable,
            "fields": _in_order(list(_declared_shapes(field.fields, versions))),
        }


def _default(value: Any, kind: str, *, is_array: bool) -> Any:
    if value == "null":
        return None
    standard = () if is_array else PLAIN_DEFAULTS.get(kind, "struct")
    if value in {None, ""} or is_array:
        return standard
    if isinstance(standard, bool):
        return value in {"true", True}
    if isinstance(standard, float):
        return float(value)
    return int(str(value), 0) if isinstance(standard, int) else value


def _range(versions: str) -> Versions:
    if versions == "none":
        return NONE
    low, _, high = versions.removesuffix("+").partition("-")
    return Versions(int(low), NEVER if versions.endswith("+") else int(high or low))


def _common(one: Versions, other: Versions) -> Versions:
    low, high = max(one.low, other.low), min(one.high, other.high)
    return Versions(low, high) if low <= high else NONE


def page(request: dict[str, Any], response: dict[str, Any]) -> str:
    """Return the text of the schema file of an API that is refused."""
    flexible = request["flexibleVersions"].replace("none", "never")
    lines = [
        f"api: {request['name'].removesuffix('Request')}",
        f"key: {request['apiKey']}",
        f"versions: {_shown(_range(request['validVersions']))}",
        f"flexible: {flexible}",
        f"listeners: [{', '.join(sorted(request['listeners']))}]",
    ]
    needed = {need.resource for need in REQUIRED[request["apiKey"]]}
    for part, message in (("request", request), ("response", response)):
        lines.append(f"{part}:{'' if message['fields'] else ' []'}")
        structs = {each["name"]: each["fields"] for each in message.get("commonStructs", ())}
        versions = _range(message["validVersions"])
        resources = needed if part == "request" else set()
        lines += _lines(message["fields"], structs, versions, "  ", resources)
    return "\n".join(lines) + "\n"


def _lines(
    fields: list[dict[str, Any]],
    structs: dict[str, Any],
    outer: Versions,
    indent: str,
    resources: set[str],
) -> Iterator[str]:
    for field in fields:
        for found in _shapes([field], structs, outer):
            words = list(_words(field, found, outer, resources))
            if not found["fields"]:
                yield f"{indent}- {{{', '.join(words)}}}"
                continue
            yield f"{indent}- {words[0]}"
            yield from (f"{indent}  {word}" for word in words[1:])
            yield f"{indent}  fields:"
            inner = field.get("fields") or structs[field["type"].removeprefix("[]")]
            yield from _lines(inner, structs, found["versions"], f"{indent}    ", resources)


def _words(
    field: dict[str, Any], found: dict[str, Any], outer: Versions, resources: set[str]
) -> Iterator[str]:
    """Yield the keys of a field in a schema file."""
    kind = field["type"].replace("records", "bytes")
    yield f"name: {field['name']}"
    yield f'type: "{kind}"' if found["is_array"] else f"type: {kind}"
    if found["versions"] != outer:
        yield f"versions: {_shown(found['versions'], outer)}"
    if found["nullable"] != NONE:
        yield f"nullable: {_shown(found['nullable'], outer)}"
    if found["tag"] is not None:
        yield f"tag: {found['tag']}"
    if found["default"] != _default(None, kind.removeprefix("[]"), is_array=found["is_array"]):
        yield f"default: {json.dumps(found['default'])}"
    if found["ignorable"]:
        yield "ignorable: true"
    resource = RESOURCES.get(field.get("entityType", ""))
    if resource in resources:
        yield f"resource: {resource}"


def _shown(versions: Versions, outer: Versions | None = None) -> str:
    is_open = outer is not None and versions.high == outer.high
    return f"{versions.low}+" if is_open else f"{versions.low}-{versions.high}"


if __name__ == "__main__":
    for each in definitions(Path(sys.argv[1])).values():
        api = each[0]["name"].removesuffix("Request")
        if api in sys.argv[2:]:
            (FOLDER / f"{snake(api)}.yaml").write_text(page(*each), encoding="utf-8")
