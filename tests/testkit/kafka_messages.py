"""Writes schemas/unserved.yaml: ``python -m testkit.kafka_messages kafka-clients-4.4.0.jar``.

The jar holds the definitions of Kafka's messages. Those of APIs that no handler serves are kept
here, without their descriptions; run it with ``PYTHONPATH=tests``.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from typing import TYPE_CHECKING, Any

from doorkeeper.handlers.registry import APIS
from testkit.checkout import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

PAGE = ROOT / "schemas" / "unserved.yaml"

HEAD = """\
# The messages of the APIs of Kafka that no handler serves, as its release 4.4.0 defines them:
# enough to read a request and to answer it with an error. tests/testkit/kafka_messages.py makes
# this file of the definitions in kafka-clients; do not edit it.
#
#   listeners   the kinds of listeners on which Kafka offers the API
#   a field     its name, type and versions; then tag=N, null=VERSIONS where it may be null, and
#               default=VALUE where that is none of the type's own
"""


def page(jar: Path, served: Iterable[int] = APIS) -> str:
    """Return the text of schemas/unserved.yaml."""
    left_out = set(served)
    found = definitions(jar)
    return HEAD + "".join(
        "".join(f"{line}\n" for line in _api(*found[key])) for key in sorted(set(found) - left_out)
    )


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


def _api(request: dict[str, Any], response: dict[str, Any]) -> Iterator[str]:
    yield f"- api: {request['name'].removesuffix('Request')}"
    yield f"  key: {request['apiKey']}"
    yield f"  versions: {_range(request['validVersions'])}"
    yield f"  flexible: {request['flexibleVersions'].replace('none', 'never')}"
    yield f"  listeners: [{', '.join(sorted(request['listeners']))}]"
    for part, message in (("request", request), ("response", response)):
        structs = {each["name"]: each["fields"] for each in message.get("commonStructs", ())}
        yield f"  {part}:{'' if message['fields'] else ' []'}"
        yield from _fields(message["fields"], structs, "    ")


def _fields(fields: list[dict[str, Any]], structs: dict[str, Any], indent: str) -> Iterator[str]:
    for field in fields:
        inner = field.get("fields") or structs.get(field["type"].removeprefix("[]"))
        yield f'{indent}- "{_field(field)}"{":" if inner else ""}'
        if inner:
            yield from _fields(inner, structs, indent + "    ")


def _field(field: dict[str, Any]) -> str:
    """Return the line of a field: name, type, versions, and what is not as usual."""
    words = [field["name"], field["type"], _range(field.get("taggedVersions", field["versions"]))]
    if "taggedVersions" in field:
        assert field["taggedVersions"] == field["versions"], "tagged in all of its versions"
        words.append(f"tag={field['tag']}")
    if "nullableVersions" in field:
        words.append(f"null={_range(field['nullableVersions'])}")
    if field.get("default") not in {None, "", "0", "false", 0}:
        words.append(f"default={field['default']}")
    return " ".join(words)


def _range(versions: str) -> str:
    return versions if re.search(r"[+-]", versions) else f"{versions}-{versions}"


if __name__ == "__main__":
    from pathlib import Path

    PAGE.write_text(page(Path(sys.argv[1])), encoding="utf-8")
