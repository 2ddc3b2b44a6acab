"""Version 1 JSON: ACLs that brokers kept in ZooKeeper, one node for each resource.

    /kafka-acl/Topic/orders
        {"version": 1, "acls": [{"principal": "User:alice", "permissionType": "Allow",
                                 "operation": "Read", "host": "*"}]}
    /kafka-acl-extended/prefixed/Topic/ord

A dump is a JSON object from paths to such objects, or to their texts; a path may also be
``Topic:orders`` or ``Topic/orders``. The format is read-only: no present release uses it.

Source: ``AclEntry.fromBytes``, ``ZkAclStore``, ``Resource.fromString`` of Kafka 3.9.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from doorkeeper.acls.formats.acl_set import AclSet
from doorkeeper.acls.formats.documents import Path, Source, document_of
from doorkeeper.acls.formats.names import FormatError, binding_of, wrong
from doorkeeper.acls.model import AclBinding

_PATH = re.compile(
    r"(?:/?kafka-acl(?:-extended)?/)?(?:(literal|prefixed)/)?(\w+)[/:](.+)",
    re.DOTALL | re.IGNORECASE,
)


def is_dump(source: Source) -> bool:
    """Return whether a JSON text looks like a dump."""
    document = source.first
    return (
        source.is_json
        and isinstance(document, dict)
        and bool(document)
        and all(isinstance(path, str) and _PATH.fullmatch(path) for path in document)
    )


def read(source: Source) -> AclSet:
    """Return the set of a dump, its bindings in the dump's order."""
    document = source.first
    if not isinstance(document, dict):
        raise wrong(document, "an object that maps znode paths to their contents")
    bindings: list[AclBinding] = []
    paths: list[Path] = []
    for path, node in document.items():
        try:
            bindings.extend(_bindings(path, node))
        except FormatError as error:
            raise FormatError(f"{path!r}: {error}") from None
        paths.extend([(0, path)] * (len(bindings) - len(paths)))
    return AclSet(bindings, tuple(paths), line_of=source.line_of)


def _bindings(path: str, node: object) -> Iterator[AclBinding]:
    match = _PATH.fullmatch(path)
    if match is None:
        raise FormatError("expected a path such as /kafka-acl/Topic/orders")
    if isinstance(node, str):
        node = document_of(node)
    if not isinstance(node, dict) or node.get("version") != 1:
        raise wrong(node, '{"version": 1, "acls": [...]}')
    acls = node.get("acls")
    if not isinstance(acls, list):
        raise wrong(acls, "a list", "acls")
    # ZooKeeper paths contain URL-encoded names.
    name = unquote(match[3]) if path.startswith("/") else match[3]
    for acl in acls:
        if not isinstance(acl, dict):
            raise FormatError("found an ACL that is not an object")
        words = [acl.get(word) for word in ("principal", "host", "operation", "permissionType")]
        if not all(isinstance(word, str) for word in words):
            raise FormatError("an ACL requires principal, permissionType, operation and host")
        principal, host, operation, permission = map(str, words)
        yield binding_of(
            resource=match[2],
            name=name,
            pattern=match[1] or "LITERAL",
            principal=principal,
            host=host,
            does=operation,
            permission=permission,
        )
