"""ACLs with their reasons, as rows, commands and YAML; reasons are comments in each form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.acls.formats.records import HEAD, records, write_yaml
from doorkeeper.acls.recorded_access import reasons_text
from doorkeeper.cli.acls.command_lines import kafka_acls_command
from doorkeeper.cli.acls.printing import row
from doorkeeper.cli.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.recorded_access import NeededAcl
    from doorkeeper.cli.json_records.sets import Learnt


def _command(binding: AclBinding) -> str:
    # Names with control characters have no command; the row shows which ACL it is.
    return kafka_acls_command(binding, add=True) or f"# no command: {row(binding)}"


def _yaml_item(binding: AclBinding) -> str:
    return write_yaml([binding]).removeprefix(HEAD).rstrip("\n")


_ITEMS: dict[str, Callable[[AclBinding], str]] = {
    "text": row,
    "commands": _command,
    "yaml": _yaml_item,
}
OUTPUTS = (*_ITEMS, "json")
"""The forms, the default first."""


def lines_of(needed: Sequence[NeededAcl], output: str) -> Iterator[str]:
    """Yield the lines of ACLs in one of ``OUTPUTS`` but json, each behind its reasons."""
    if output == "yaml":
        if not needed:
            yield from write_yaml(()).splitlines()
            return
        yield from HEAD.splitlines()
    for acl in needed:
        yield f"# {printable(reasons_text(acl.reasons))}"
        yield _ITEMS[output](acl.binding)


def record_of(needed: Sequence[NeededAcl], regions: Sequence[str] | None) -> Learnt:
    """Return ACLs with their reasons for JSON, and the regions that they newly allow."""
    return {
        "acls": [
            {**record, "because": reasons_text(acl.reasons)}
            for acl, record in zip(needed, records(acl.binding for acl in needed), strict=True)
        ],
        "newlyAllows": None if regions is None else list(regions),
    }
