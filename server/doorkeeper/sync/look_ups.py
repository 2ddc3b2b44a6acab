"""The filters that ask a broker for some ACLs.

A broker looks at each of its ACLs for each filter, so that their number counts: one for the
thousand ACLs of a new topic, or of a new principal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.acls.model import ANY_BINDING, AclBindingFilter, ResourcePatternFilter, exactly

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.sync.drift import Bindings

# So many filters cost a broker as much as a description of all ACLs, which also shows the
# changes of others.
FEW: Final = 8


def look_ups(bindings: Bindings) -> Sequence[AclBindingFilter]:
    """Return a few filters that match these ACLs and maybe others; none where it takes too many."""
    if len(bindings) <= FEW:
        return [exactly(each) for each in bindings]
    patterns = {each.pattern for each in bindings}
    if len(patterns) <= FEW:
        return [
            AclBindingFilter(ResourcePatternFilter(*each), ANY_BINDING.entry) for each in patterns
        ]
    principals = {each.entry.principal for each in bindings}
    if len(principals) <= FEW:
        return [
            AclBindingFilter(ANY_BINDING.pattern, ANY_BINDING.entry._replace(principal=principal))
            for principal in principals
        ]
    return []
