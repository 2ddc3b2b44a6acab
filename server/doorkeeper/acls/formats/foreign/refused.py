"""Files of other tools that are known and not read; each error has the command that converts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.acls.formats.foreign.rows import mapping_at
from doorkeeper.acls.formats.names import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from doorkeeper.acls.formats.documents import Source

_EXPORT: Final = "doorkeeper acls export kafka://HOST:PORT > acls.yaml"


def refusing(text: str) -> Callable[[object], NoReturn]:
    """Return a reader that refuses every text."""

    def refuse(_source: object) -> NoReturn:
        raise FormatError(text)

    return refuse


TEXTS: Final = (
    # Names and principals are values that only Terraform computes.
    (
        "terraform",
        r"(?:\s|[#/][^\n]*\n)*(?:resource|terraform|provider|module|variable)\b[^\n]*{",
        (
            "found a Terraform configuration; expected: a Terraform state: terraform show -json >"
            " state.json"
        ),
    ),
    # A bar in a name cannot be told from one between columns.
    (
        "confluent",
        r"\s*Principal\s+\|\s+Permission\s+\|",
        (
            "found the table of confluent kafka acl list; expected: its JSON: confluent kafka acl"
            " list -o json > acls.json"
        ),
    ),
    # The table has no types of patterns.
    (
        "rpk",
        r"\s*PRINCIPAL +HOST +OPERATION +PERMISSION TYPE",
        (
            "found a table of rpk before 21.10, which does not show which ACLs are PREFIXED; use a"
            " newer rpk: rpk security acl list > acls.txt"
        ),
    ),
)
"""The format, how a text begins that is refused, and why."""


def is_julie_topology(source: Source) -> bool:
    """Return whether a document is a topology of Julie Ops."""
    document = mapping_at(source.first)
    return isinstance(document.get("projects"), list) and "context" in document


# Names follow from formats in Julie's own configuration.
refuse_julie_topology = refusing(
    "found a topology of Julie Ops (Kafka Topology Builder), whose names depend on its"
    " configuration; expected: the .cluster-state file that it writes, or export the cluster:"
    f" {_EXPORT}"
)
