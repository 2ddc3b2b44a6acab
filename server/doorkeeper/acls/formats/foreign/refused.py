"""Files of other tools that are known and not read; each error has the command that converts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from doorkeeper.acls.formats.foreign.rows import mapping_at
from doorkeeper.acls.formats.names import FormatError

if TYPE_CHECKING:
    from typing import NoReturn

    from doorkeeper.acls.formats.sources import Source

_EXPORT: Final = "doorkeeper acls export kafka://HOST:PORT > acls.yaml"
_TERRAFORM = re.compile(
    r"(?:\s|[#/][^\n]*\n)*(?:resource|terraform|provider|module|variable)\b[^\n]*{"
)
_CONFLUENT_TABLE = re.compile(r"\s*Principal\s+\|\s+Permission\s+\|")
_OLD_RPK = re.compile(r"\s*PRINCIPAL +HOST +OPERATION +PERMISSION TYPE")


def is_configuration_of_terraform(text: str) -> bool:
    """Return whether a text is a configuration in HCL."""
    return _TERRAFORM.match(text) is not None


def refuse_configuration_of_terraform(_text: str) -> NoReturn:
    """Raise a FormatError: names and principals are values that only Terraform computes."""
    raise FormatError(
        "found a Terraform configuration; expected: a Terraform state: terraform show -json >"
        " state.json"
    )


def is_confluent_table(text: str) -> bool:
    """Return whether a text is the table of ``confluent kafka acl list``."""
    return _CONFLUENT_TABLE.match(text) is not None


def refuse_confluent_table(_text: str) -> NoReturn:
    """Raise a FormatError: a bar in a name cannot be told from one between columns."""
    raise FormatError(
        "found the table of confluent kafka acl list; expected: its JSON: confluent kafka acl list"
        " -o json > acls.json"
    )


def is_old_rpk_table(text: str) -> bool:
    """Return whether a text is a table of rpk before 21.10."""
    return _OLD_RPK.match(text) is not None


def refuse_old_rpk_table(_text: str) -> NoReturn:
    """Raise a FormatError: the table has no types of patterns."""
    raise FormatError(
        "found a table of rpk before 21.10, which does not show which ACLs are PREFIXED; use a"
        " newer rpk: rpk security acl list > acls.txt"
    )


def is_julie_topology(source: Source) -> bool:
    """Return whether a document is a topology of Julie Ops."""
    document = mapping_at(source.first)
    return isinstance(document.get("projects"), list) and "context" in document


def refuse_julie_topology(_source: Source) -> NoReturn:
    """Raise a FormatError: names follow from formats in Julie's own configuration."""
    raise FormatError(
        "found a topology of Julie Ops (Kafka Topology Builder), whose names depend on its"
        " configuration; expected: the .cluster-state file that it writes, or export the cluster:"
        f" {_EXPORT}"
    )
