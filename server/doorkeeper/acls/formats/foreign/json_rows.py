"""Lists of ACLs as JSON or YAML, a mapping for each.

    {"matches": [{"principal": "User:a", "host": "*", "resource_type": "TOPIC",
                  "resource_name": "t", "resource_pattern_type": "LITERAL", "operation": "READ",
                  "permission": "ALLOW"}]}                      rpk security acl list --format json
    [{"principal": "User:a", "permission": "ALLOW", "operation": "READ", "host": "*",
      "resource_type": "TOPIC", "resource_name": "t", "pattern_type": "LITERAL"}]
                                                                confluent kafka acl list -o json
    {"bindings": [{"principal": "User:a", "host": "*", "resourceType": "TOPIC",
                   "resourceName": "t", "pattern": "LITERAL", "operation": "READ"}], ...}
                                                                .cluster-state of Julie Ops

Source: ``aclListOutput`` of rpk; ``acl/list`` of Confluent's CLI; ``BackendState`` of Julie Ops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.acls.formats.foreign.rows import Rows, mapping_at
from doorkeeper.acls.formats.names import short

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.acls.formats.acl_set import AclSet
    from doorkeeper.acls.formats.documents import Source


SNAKE: Final = {
    "resource": "resource_type",
    "name": "resource_name",
    "principal": "principal",
    "host": "host",
    "does": "operation",
    "permission": "permission",
}
SCHEMA_REGISTRY: Final = ("SUBJECT", "REGISTRY")
"""Resource types of Redpanda's Schema Registry: no ACLs of Kafka."""


def is_rpk(source: Source) -> bool:
    """Return whether a document is the output of ``rpk security acl list``."""
    return isinstance(mapping_at(source.first).get("matches"), list)


def is_confluent(source: Source) -> bool:
    """Return whether a document is the output of ``confluent kafka acl list``."""
    rows = source.first
    return isinstance(rows, list) and bool(rows) and "resource_type" in mapping_at(rows[0])


def is_julie_state(source: Source) -> bool:
    """Return whether a document is a ``.cluster-state`` of Julie Ops."""
    document = mapping_at(source.first)
    return isinstance(document.get("bindings"), list) and "topics" in document


def read_rpk(source: Source) -> AclSet:
    """Return the set of rpk's output; what failed on a broker is an error."""
    filters = mapping_at(source.first).get("filters")
    for index, row in enumerate(filters if isinstance(filters, list) else []):
        if message := mapping_at(row).get("message"):
            rows = Rows(source.line_of)
            text = f"rpk could not list all ACLs: {short(message)}"
            raise rows.error((0, "filters", index), f"filter {index + 1}", text)
    return _read(source, "matches", {**SNAKE, "pattern": "resource_pattern_type"})


def read_confluent(source: Source) -> AclSet:
    """Return the set of the output of Confluent's CLI; Confluent Cloud has no hosts in its ACLs."""
    return _read(source, "", {**SNAKE, "pattern": "pattern_type"}, host="*")


def read_julie_state(source: Source) -> AclSet:
    """Return the set that Julie Ops has made, which makes ALLOW only."""
    words = {"resource": "resourceType", "name": "resourceName", "pattern": "pattern"}
    return _read(source, "bindings", {**SNAKE, **words}, permission="ALLOW")


def _read(source: Source, member: str, words: Mapping[str, str], **defaults: str) -> AclSet:
    """Return the set of the rows of a member, or of a document that is the list.

    ``words`` has the name of each word of ``Rows.add`` in a row.
    """
    rows = Rows(source.line_of)
    items = mapping_at(source.first)[member] if member else source.first
    assert isinstance(items, list)
    for index, item in enumerate(items):
        body = mapping_at(item)
        row = {word: body.get(name, defaults.get(word)) for word, name in words.items()}
        if row["resource"] not in SCHEMA_REGISTRY:
            path = (0, member, index) if member else (0, index)
            rows.add(path, f"acl {index + 1}", row)
    return rows.result()
