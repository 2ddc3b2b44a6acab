"""Terraform's state, and what ``terraform show -json`` prints of a state or a plan.

    {"version": 4, "resources": [
      {"mode": "managed", "type": "kafka_acl", "name": "app", "instances": [
        {"attributes": {"resource_name": "orders", "resource_type": "Topic",
                        "resource_pattern_type_filter": "Literal", "acl_principal": "User:app",
                        "acl_host": "*", "acl_operation": "Read",
                        "acl_permission_type": "Allow"}}]}]}

``kafka_acl`` is of Mongey's provider, ``confluent_kafka_acl`` and the older
``confluentcloud_kafka_acl`` of Confluent's. A plan has the state that it leads to. Values that are
not of ACLs, among them credentials, are never read.

Source: Terraform's state format 4 and JSON output format 1; the schemas of the providers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from doorkeeper.acls.formats.foreign.json_rows import SNAKE
from doorkeeper.acls.formats.foreign.rows import Rows, mapping_at
from doorkeeper.acls.formats.names import FormatError, NoAcls, short_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from doorkeeper.acls.formats.acl_set import AclSet
    from doorkeeper.acls.formats.documents import Path, Source

_VERSION: Final = 4
_PLANNED: Final = "planned_values"
_SHOWN: Final = ("values", _PLANNED)
_CONFLUENT: Final = {**SNAKE, "pattern": "pattern_type"}
_ATTRIBUTES: Final[Mapping[str, Mapping[str, str]]] = {
    "kafka_acl": {
        **SNAKE,
        "pattern": "resource_pattern_type_filter",
        "principal": "acl_principal",
        "host": "acl_host",
        "does": "acl_operation",
        "permission": "acl_permission_type",
    },
    "confluent_kafka_acl": _CONFLUENT,
    "confluentcloud_kafka_acl": _CONFLUENT,
}
"""The attribute of each word, by the type of a resource."""

_DEFAULTS: Final = {"pattern": "LITERAL", "host": "*"}
"""For attributes that older providers do not write into a state.

A plan also lacks what is known only after it was applied: a default would be a wider ACL.
"""

_OTHER_ACLS = re.compile(r"\w*(?:kafka|redpanda)\w*_acls?\w*|redpanda_acl")


class _Resource(NamedTuple):
    path: Path
    kind: str
    address: str
    attributes: Mapping[str, Any]


def is_state(source: Source) -> bool:
    """Return whether a document is a state of Terraform, or what it shows of one."""
    document = mapping_at(source.first)
    return isinstance(document.get("terraform_version"), str) and (
        "version" in document or "format_version" in document
    )


def read(source: Source) -> AclSet:
    """Return the set of the resources in a state.

    Raises:
        NoAcls: it has no ACLs.
    """
    document = mapping_at(source.first)
    rows = Rows(source.line_of)
    if document.get("errored"):
        text = "planning failed, so that some ACLs may be missing; expected: a complete plan"
        raise rows.error((0, "errored"), "errored", text)
    count = 0
    is_plan = _PLANNED in document
    defaults = {} if is_plan else _DEFAULTS
    for path, kind, address, attributes in _resources(source, document):
        words = _ATTRIBUTES.get(kind)
        if words is None:
            if _OTHER_ACLS.fullmatch(kind):
                text = f"the provider is not supported; supported: {', '.join(_ATTRIBUTES)}"
                raise rows.error(path, address, text)
            continue
        count += 1
        rows.check_cluster(path, address, _cluster_of(attributes))
        row = {
            word: defaults.get(word) if attributes.get(name) is None else attributes[name]
            for word, name in words.items()
        }
        if None in row.values():
            missing = [words[word] for word, value in row.items() if value is None]
            why = "; if it is known only after apply, read the state then" if is_plan else ""
            raise rows.error(path, address, f"no value for {', '.join(missing)}{why}")
        rows.add(path, address, row)
    if not count:
        raise NoAcls(f"found a Terraform state without {', '.join(_ATTRIBUTES)}")
    return rows.result()


def _resources(source: Source, document: Mapping[str, Any]) -> Iterator[_Resource]:
    shown = next((word for word in reversed(_SHOWN) if word in document), None)
    if shown is not None:
        yield from _shown((0, shown, "root_module"), mapping_at(document[shown]).get("root_module"))
        return
    if document.get("version") != _VERSION:
        version = short_text(document.get("version"))
        raise FormatError(
            f"found a Terraform state of version {version}; expected: {_VERSION}, written by a"
            " newer Terraform: terraform state pull > state.json",
            source.line_of((0, "version")),
        )
    for index, resource in enumerate(_list(document.get("resources"))):
        body = mapping_at(resource)
        if body.get("mode") != "managed":
            continue
        kind = str(body.get("type"))
        parts = [part for part in (body.get("module"), kind, body.get("name")) if part]
        address = ".".join(map(short_text, parts))
        for number, instance in enumerate(_list(body.get("instances"))):
            values = mapping_at(instance)
            key = values.get("index_key")
            where = address if key is None else f"{address}[{key!r}]"
            attributes = values.get("attributes") or values.get("attributes_flat")
            path = (0, "resources", index, "instances", number)
            yield _Resource(path, kind, where, mapping_at(attributes))


def _shown(path: Path, root: object) -> Iterator[_Resource]:
    modules: list[tuple[Path, object]] = [(path, root)]
    while modules:
        module_path, module = modules.pop()
        body = mapping_at(module)
        for index, resource in enumerate(_list(body.get("resources"))):
            values = mapping_at(resource)
            if values.get("mode") == "managed":
                kind = str(values.get("type"))
                yield _Resource(
                    (*module_path, "resources", index),
                    kind,
                    short_text(values.get("address", kind)),
                    mapping_at(values.get("values")),
                )
        children = enumerate(_list(body.get("child_modules")))
        modules += reversed([((*module_path, "child_modules", n), child) for n, child in children])


def _cluster_of(attributes: Mapping[str, Any]) -> str:
    """Return the id of Confluent's cluster: a block, a list of one, or a text of old providers."""
    cluster = attributes.get("kafka_cluster")
    if isinstance(cluster, list) and cluster:
        cluster = cluster[0]
    if isinstance(cluster, dict):
        cluster = cluster.get("id")
    return cluster if isinstance(cluster, str) else ""


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
