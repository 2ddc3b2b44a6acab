"""``KafkaPrincipalAuthorization`` and ``KafkaPrincipalRole`` of Jikkou.

    apiVersion: kafka.jikkou.io/v1beta2
    kind: KafkaPrincipalAuthorization
    metadata: {name: "User:app"}
    spec:
      roles: [reader]
      acls:
        - resource: {type: topic, pattern: orders, patternType: LITERAL}
          type: ALLOW
          operations: [READ]
          host: "*"

A role stands in the same file. MATCH is a regular expression that Jikkou expands with the topics of
a cluster: it is refused. What ``jikkou.io/delete`` marks is not there when the file is applied.

Source: ``LiteralKafkaAclBindingBuilder``, ``KafkaPrincipalAuthorizationTransformation`` of Jikkou.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.acls.formats.foreign.manifests import Manifest, manifests_of
from doorkeeper.acls.formats.foreign.rows import Rows, mapping_at
from doorkeeper.acls.formats.names import FormatError, NoAcls, mismatch, short

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.acls.formats.acl_set import AclSet
    from doorkeeper.acls.formats.documents import Source

_AUTHORIZATION: Final = "KafkaPrincipalAuthorization"
_ROLE: Final = "KafkaPrincipalRole"
_OLD: Final = "KafkaAuthorizationList"
_WORDS: Final = ("resource", "type", "operations", "host")
_CONVERT: Final = "jikkou get kafkaprincipalauthorizations > acls.yaml"


def is_jikkou(source: Source) -> bool:
    """Return whether a resource of a text is one of Jikkou."""
    versions = (mapping_at(document).get("apiVersion") for document in source.documents)
    return any(
        isinstance(version, str) and version.partition("/")[0].endswith("jikkou.io")
        for version in versions
    )


def read(source: Source) -> AclSet:
    """Return the set of the authorizations in a text.

    Raises:
        NoAcls: the resources are of other kinds.
    """
    rows = Rows(source.line_of)
    manifests = list(manifests_of(source))
    named = (manifest for manifest in manifests if manifest.kind == _ROLE)
    roles: dict[object, Manifest] = {
        manifest.name: manifest for manifest in named if isinstance(manifest.name, str)
    }
    count = 0
    for manifest in manifests:
        if manifest.kind == _OLD:
            text = f"found the format of Jikkou before 0.16; export the cluster instead: {_CONVERT}"
            raise rows.error(manifest.path, _OLD, text)
        if manifest.kind == _AUTHORIZATION:
            count += 1
            _add_authorization(rows, manifest, roles)
    if not count and not roles:
        raise NoAcls("found Jikkou resources but no KafkaPrincipalAuthorization")
    return rows.result()


def _add_authorization(rows: Rows, manifest: Manifest, roles: Mapping[object, Manifest]) -> None:
    path, where, principal = manifest.path, manifest.where, manifest.name
    metadata = mapping_at(manifest.body.get("metadata"))
    if str(mapping_at(metadata.get("annotations")).get("jikkou.io/delete")).lower() == "true":
        return
    if not isinstance(principal, str):
        raise rows.error(path, where, "metadata.name is missing; it names the principal")
    _add_acls(rows, manifest, where, principal)
    names = manifest.spec.get("roles") or []
    if not isinstance(names, list):
        text = mismatch(names, "a list of names", "roles")
        raise rows.error((*path, "spec", "roles"), where, text)
    for name in names:
        role = roles.get(name) if isinstance(name, str) else None
        if role is None:
            text = f"role {short(name)} is not in this file"
            raise rows.error((*path, "spec", "roles"), where, text)
        _add_acls(rows, role, f"{where}: {role.where}", principal)


def _add_acls(rows: Rows, manifest: Manifest, where: str, principal: str) -> None:
    acls = manifest.spec.get("acls") or []
    path = (*manifest.path, "spec", "acls")
    rows.add_acls(path, where, acls, _WORDS, partial(_row, principal))


def _row(principal: str, body: Mapping[str, Any]) -> dict[str, Any]:
    resource = mapping_at(body.get("resource"))
    pattern = resource.get("patternType")
    if isinstance(pattern, str) and pattern.upper() == "MATCH":
        raise FormatError(
            "MATCH patterns are expanded by Jikkou with the topics of a cluster; apply the file"
            f" with Jikkou, then run {_CONVERT}"
        )
    return {
        "resource": resource.get("type"),
        "name": resource.get("pattern"),
        "pattern": pattern,
        "principal": principal,
        "host": body.get("host", "*"),
        "permission": body.get("type"),
        "does": body.get("operations"),
    }
