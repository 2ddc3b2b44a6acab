"""ACLs with their reasons, as rows, commands and YAML; reasons are comments in each form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.acls.formats.records import write_yaml
from doorkeeper.acls.recorded_access import reasons_text
from doorkeeper.cli.acls.command_lines import kafka_acls_command
from doorkeeper.cli.acls.printing import row
from doorkeeper.cli.learn.alternatives import InternalNames
from doorkeeper.cli.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.recorded_access import NeededAcl
    from doorkeeper.cli.learn.alternatives import Alternative
    from doorkeeper.cli.learn.present import PresentAcls


def _command(binding: AclBinding) -> str:
    # Names with control characters have no command; the row shows which ACL it is.
    return kafka_acls_command(binding, add=True) or f"# no command: {row(binding)}"


def _yaml_item(binding: AclBinding) -> str:
    return write_yaml([binding]).splitlines()[-1]


_ITEMS: dict[str, Callable[[AclBinding], str]] = {
    "rows": row,
    "commands": _command,
    "yaml": _yaml_item,
}
OUTPUTS = tuple(_ITEMS)
"""The forms, the default first."""


def lines_of(needed: Sequence[NeededAcl], output: str) -> Iterator[str]:
    """Yield the lines of ACLs in one of ``OUTPUTS``, each behind its reasons."""
    if output == "yaml":
        if not needed:
            yield from write_yaml(()).splitlines()
            return
        # The head of a file with any ACL.
        yield from write_yaml([needed[0].binding]).splitlines()[:-1]
    names = InternalNames(acl.binding for acl in needed)
    for acl in needed:
        yield f"# {printable(reasons_text(acl.reasons))}"
        internal = names.find(acl.binding)
        if internal is not None:
            yield f"# {printable(internal.purpose)}"
        yield _ITEMS[output](acl.binding)


def alternative_lines(
    alternatives: Sequence[Alternative], output: str, present: PresentAcls | None
) -> Iterator[str]:
    """Yield the lines of alternatives, all as comments, each behind the ACLs that it replaces.

    What one would newly allow follows it, where the ACLs in force are known.
    """
    for alternative in alternatives:
        replaced = ", ".join(
            f"{other.entry.operation.name} on {other.pattern.name}"
            for other in alternative.instead_of
        )
        yield f"# alternative to {printable(replaced)}: {printable(alternative.reason)}"
        yield f"#   {_ITEMS[output](alternative.binding)}"
        regions = () if present is None else present.new_access([alternative.binding])
        yield from (f"#   newly allows: {region}" for region in regions)
