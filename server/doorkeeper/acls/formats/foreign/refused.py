"""Files of other tools that are known and not read; each error has the command that converts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from doorkeeper.acls.formats.foreign.rows import mapping_at
from doorkeeper.acls.formats.names import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from doorkeeper.acls.formats.documents import Source

_EXPORT: Final = "doorkeeper acls export kafka://HOST:PORT > acls.yaml"


def _refusing(text: str) -> Callable[[object], NoReturn]:
    def refuse(_source: object) -> NoReturn:
        raise FormatError(text)

    return refuse


is_configuration_of_terraform = re.compile(
    r"(?:\s|[#/][^\n]*\n)*(?:resource|terraform|provider|module|variable)\b[^\n]*{"
).match
# Names and principals are values that only Terraform computes.
refuse_configuration_of_terraform = _refusing(
    "found a Terraform configuration; expected: a Terraform state: terraform show -json >"
    " state.json"
)

is_confluent_table = re.compile(r"\s*Principal\s+\|\s+Permission\s+\|").match
# A bar in a name cannot be told from one between columns.
refuse_confluent_table = _refusing(
    "found the table of confluent kafka acl list; expected: its JSON: confluent kafka acl list"
    " -o json > acls.json"
)

is_old_rpk_table = re.compile(r"\s*PRINCIPAL +HOST +OPERATION +PERMISSION TYPE").match
# The table has no types of patterns.
refuse_old_rpk_table = _refusing(
    "found a table of rpk before 21.10, which does not show which ACLs are PREFIXED; use a newer"
    " rpk: rpk security acl list > acls.txt"
)


def is_julie_topology(source: Source) -> bool:
    """Return whether a document is a topology of Julie Ops."""
    document = mapping_at(source.first)
    return isinstance(document.get("projects"), list) and "context" in document


# Names follow from formats in Julie's own configuration.
refuse_julie_topology = _refusing(
    "found a topology of Julie Ops (Kafka Topology Builder), whose names depend on its"
    " configuration; expected: the .cluster-state file that it writes, or export the cluster:"
    f" {_EXPORT}"
)
