"""Where a permission is allowed and where it is denied: the regions behind the verdict *sometimes*.

They are what changes from a state that denies everything, and from one that allows everything, to
the ACLs, so that they are exact (``effective_changes``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from doorkeeper.acls.bulk import load
from doorkeeper.acls.decision import Policy
from doorkeeper.acls.effective_changes import ComparisonScope, DecisionState, effective_changes
from doorkeeper.acls.model import WILDCARD

if TYPE_CHECKING:
    from collections.abc import Collection

    from doorkeeper.acls.effective_changes import EffectiveChange
    from doorkeeper.acls.snapshot import Snapshot
    from doorkeeper.acls.tasks import TaskNeed


def regions_of(
    policy: Policy,
    snapshot: Snapshot,
    principals: Collection[str],
    host: str | None,
    need: TaskNeed,
) -> dict[str, list[EffectiveChange]]:
    """Return the regions of a need with names by principal, the allowed ones first.

    ``host`` is as in ``Space``. Each question about the need is in one region.
    """
    assert need.names is not None
    scope = ComparisonScope(
        resource_types=(need.resource_type,),
        names=need.names,
        host=WILDCARD if host is None else host,
        principals=frozenset(principals),
        operation=need.operation,
    )
    regions: dict[str, list[EffectiveChange]] = {principal: [] for principal in principals}
    no_acls = load(()).with_network_matching(enabled=snapshot.matches_networks)
    for everyone in (False, True):
        before = DecisionState(Policy(allow_everyone=everyone), no_acls)
        for change in effective_changes(before, DecisionState(policy, snapshot), scope):
            # A client that no ACL names is in the regions of all hosts only.
            if change.principal in regions and (host is not None or change.host == WILDCARD):
                region = change if host is not None else replace(change, other_hosts=())
                regions[change.principal].append(region)
    return regions
