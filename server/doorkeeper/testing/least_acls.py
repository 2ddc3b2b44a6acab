"""The difference between a set of ACLs and the least one, as an assertion prints it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from doorkeeper.acls.model import AclBinding
from doorkeeper.acls.recorded_access import RecordedAccess, missing_acls, unneeded_acls
from doorkeeper.cli.learning.reasons import reasons_text
from doorkeeper.testing.answers import text_of


def difference(bindings: Collection[AclBinding], accesses: Sequence[RecordedAccess]) -> str:
    """Return a line for each missing ACL and for each that is not needed; empty without any."""
    missing = missing_acls(bindings, accesses)
    lines = [
        f"  missing: {text_of(each.binding)} for {reasons_text(each.reasons)}" for each in missing
    ]
    # Beside the missing ones: READ on a topic is needed for its DESCRIBE only without WRITE.
    together = [*bindings, *(each.binding for each in missing)]
    unneeded = set(unneeded_acls(together, accesses))
    lines += [f"  not needed: {text_of(each)}" for each in sorted({*bindings} & unneeded)]
    return "\n".join(lines)
