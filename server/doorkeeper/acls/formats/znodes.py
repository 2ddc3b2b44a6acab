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

from doorkeeper.acls.formats.documents import document_of
from doorkeeper.acls.formats.names import FormatError, binding_of
from doorkeeper.acls.model import AclBinding

_PATH = re.compile(
    r"(?:/?kafka-acl(?:-extended)?/)?(?:(literal|prefixed)/)?(\w+)[/:](.+)",
    re.DOTALL | re.IGNORECASE,
)


def is_dump(document: object) -> bool:
    """Return whether a parsed document looks like a dump."""
    return (
        isinstance(document, dict)
        and bool(document)
        and all(isinstance(path, str) and _PATH.fullmatch(path) for path in document)
    )


def read(text: str, *, bare_principals: bool = False) -> list[AclBinding]:
    """Return the bindings of a dump, in its order."""
    return from_document(document_of(text), bare_principals=bare_principals)


def from_document(document: object, *, bare_principals: bool = False) -> list[AclBinding]:
    """Return the bindings of a parsed dump."""
    if not isinstance(document, dict):
        raise FormatError("expected is an object from paths of nodes to what they hold")
    bindings: list[AclBinding] = []
    for path, node in document.items():
        try:
            bindings.extend(_bindings(path, node, bare_principals=bare_principals))
        except FormatError as error:
            raise FormatError(f"{path!r}: {error}") from None
    return bindings


def _bindings(path: str, node: object, *, bare_principals: bool) -> Iterator[AclBinding]:
    match = _PATH.fullmatch(path)
    if match is None:
        raise FormatError("expected is a path such as /kafka-acl/Topic/orders")
    if isinstance(node, str):
        node = document_of(node)
    if not isinstance(node, dict) or node.get("version") != 1:
        raise FormatError('expected is {"version": 1, "acls": [...]}')
    acls = node.get("acls")
    if not isinstance(acls, list):
        raise FormatError("acls: expected is a list")
    # ZooKeeper paths contain URL-encoded names.
    name = unquote(match[3]) if path.startswith("/") else match[3]
    for acl in acls:
        if not isinstance(acl, dict):
            raise FormatError("an ACL is no object")
        words = [acl.get(word) for word in ("principal", "host", "operation", "permissionType")]
        if not all(isinstance(word, str) for word in words):
            raise FormatError("an ACL needs principal, permissionType, operation and host")
        principal, host, operation, permission = map(str, words)
        yield binding_of(
            resource=match[2],
            name=name,
            pattern=match[1] or "LITERAL",
            principal=principal,
            host=host,
            does=operation,
            permission=permission,
            bare_principals=bare_principals,
        )
