"""``KafkaUser`` of Strimzi, and of what is built on it: v1beta2 and v1.

    apiVersion: kafka.strimzi.io/v1
    kind: KafkaUser
    metadata: {name: app, labels: {strimzi.io/cluster: main}}
    spec:
      authentication: {type: tls}
      authorization:
        type: simple
        acls:
          - {resource: {type: topic, name: orders}, operations: [Read, Describe]}

The principal is ``User:CN=app`` with TLS, and ``User:app`` otherwise. Other kinds beside it hold no
ACLs and are passed over.

Source: ``KafkaUserModel``, ``SimpleAclRule``, ``SimpleAclRuleResource`` of Strimzi's user operator.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.acls.formats.foreign.manifests import Manifest, manifests_of
from doorkeeper.acls.formats.foreign.rows import Rows, mapping_at
from doorkeeper.acls.formats.names import NoAcls, mismatch, short, wrong
from doorkeeper.acls.model import CLUSTER_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.acls.formats.acl_set import AclSet
    from doorkeeper.acls.formats.documents import Source

_GROUPS: Final = ("kafka.strimzi.io", "eventstreams.ibm.com")
_CLUSTER_LABELS: Final = tuple(f"{group.removeprefix('kafka.')}/cluster" for group in _GROUPS)
_PRINCIPALS: Final = {"tls": "User:CN=", "tls-external": "User:CN=", "scram-sha-512": "User:"}
_PATTERNS: Final = {"literal": "LITERAL", "prefix": "PREFIXED"}
_WORDS: Final = ("resource", "type", "host", "operations")


def read(source: Source) -> AclSet:
    """Return the set of the users in a text.

    Raises:
        NoAcls: the resources are of other kinds, or no user has an authorization.
    """
    rows = Rows(source.line_of)
    kinds = set()
    count = authorized = 0
    for manifest in manifests_of(source):
        kinds.add(manifest.kind)
        if manifest.group in _GROUPS and manifest.kind == "KafkaUser":
            count += 1
            authorized += manifest.spec.get("authorization") is not None
            _add_user(rows, manifest)
    if not count:
        shown = ", ".join(sorted(kinds)[:5]) + (" and more" if len(kinds) > 5 else "")
        raise NoAcls(
            f"found Kubernetes resources but no Strimzi KafkaUser: {shown}; expected: a KafkaUser"
        )
    if not authorized:
        # More likely users of a cluster without ACLs than the wish to remove all.
        raise NoAcls(
            f"found {count} Strimzi KafkaUser{'' if count == 1 else 's'} without"
            " spec.authorization; expected: authorization.acls (use [] for no ACLs)"
        )
    return rows.result()


def _add_user(rows: Rows, user: Manifest) -> None:
    path, where, name = user.path, user.where, user.name
    if not isinstance(name, str):
        raise rows.error(path, where, "metadata.name is missing; the principal is derived from it")
    labels = mapping_at(mapping_at(user.body.get("metadata")).get("labels"))
    cluster = next((labels[label] for label in _CLUSTER_LABELS if label in labels), "")
    rows.check_cluster(path, where, str(cluster))
    authorization = user.spec.get("authorization")
    if authorization is None:
        return
    kind = mapping_at(authorization).get("type", "simple")
    if kind != "simple":
        text = mismatch(kind, "simple", "authorization.type")
        raise rows.error((*path, "spec", "authorization"), where, text)
    principal = _principal(rows, user, name)
    acls = mapping_at(authorization).get("acls", [])
    words = [*_WORDS, *(() if user.version == "v1" else ("operation",))]
    acls_path = (*path, "spec", "authorization", "acls")
    rows.add_acls(acls_path, where, acls, words, partial(_row, principal))


def _principal(rows: Rows, user: Manifest, name: str) -> str:
    authentication = user.spec.get("authentication")
    if authentication is None:
        return f"User:{name}"
    kind = mapping_at(authentication).get("type")
    prefix = _PRINCIPALS.get(kind) if isinstance(kind, str) else None
    if prefix is None:
        text = f"authentication.type: found {short(kind)}; allowed: {', '.join(_PRINCIPALS)}"
        raise rows.error((*user.path, "spec", "authentication"), user.where, text)
    return f"{prefix}{name}"


def _row(principal: str, body: Mapping[str, Any]) -> dict[str, Any]:
    if ("operation" in body) == ("operations" in body):
        raise wrong(body, "a list of operations")
    resource = mapping_at(body.get("resource"))
    kind = resource.get("type")
    pattern = resource.get("patternType", "literal")
    is_cluster = kind == "cluster"
    return {
        "resource": kind,
        "name": CLUSTER_NAME if is_cluster else resource.get("name"),
        "pattern": "LITERAL" if is_cluster else _PATTERNS.get(str(pattern), pattern),
        "principal": principal,
        "host": body.get("host", "*"),
        "permission": body.get("type", "allow"),
        "does": body["operations"] if "operations" in body else [body["operation"]],
    }
