"""Another set of ACLs instead of the one in force: narrower, and proved on the whole history.

    least-privilege  grants of principals in the history are replaced by their needs; a DENY stays
    unused           grants that the history does not need go
    overbroad        a grant that is too wide is replaced by its used accesses

With ``allow.everyone.if.no.acl.found`` a binding stays where nothing else would cover its names:
without any ACL they would be open to all. For some principals alone nothing is proposed on
names that are: it would shut them to all others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from doorkeeper.acl.decision import Policy
from doorkeeper.acl.model import WILDCARD_PRINCIPAL, AclPermissionType
from doorkeeper_pipeline.errors import PipelineError
from doorkeeper_pipeline.evaluation.literals import bindings_of
from doorkeeper_pipeline.evaluation.unused import closing, open_to_all
from doorkeeper_pipeline.jobs.backtest import backtest
from doorkeeper_pipeline.jobs.gold import GoldInput, Proposal, ProposalOptions
from doorkeeper_pipeline.jobs.grants import overbroad_in, removable, usage
from doorkeeper_pipeline.jobs.least_privilege import NO_PRIVILEGES, least_in, table_of
from doorkeeper_pipeline.jobs.observed import principals_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.acl.model import AclBinding
    from doorkeeper_pipeline.evaluation.acl_sets import AclSet

KINDS = ("least-privilege", "unused", "overbroad")


def propose(asked: GoldInput, wanted: ProposalOptions) -> Proposal:
    """Return the proposal.

    Raises:
        PipelineError: a kind is unknown, or a principal is not in the history nor in any ACL.

    """
    _check(wanted)
    acls = asked.acls
    _check_principals(asked, wanted, acls)
    privileges = NO_PRIVILEGES
    proposed = set(acls.bindings)
    if "unused" in wanted.kinds:
        proposed -= _unneeded_grants(asked, acls, wanted)
    if "overbroad" in wanted.kinds:
        # After what is unused: a binding that went because of a wide one may be what replaces it.
        proposed = _narrow(asked, acls, wanted, proposed)
    if "least-privilege" in wanted.kinds:
        least = least_in(asked, acls.bindings, prefixes=wanted.prefixes)
        bindings = bindings_of(least.privileges)
        chosen = [_is_for(asked, wanted, each) for each in bindings]
        if wanted.principals:
            # An ACL for one on what is open to all would shut it to the others.
            is_open = open_to_all(acls.bindings, asked.policy)
            pairs = zip(chosen, bindings, strict=True)
            chosen = [each and not is_open(binding.pattern) for each, binding in pairs]
        privileges = least.privileges.filter(pl.Series(chosen, dtype=pl.Boolean))
        proposed -= _replaced_grants(asked, acls.bindings, wanted, least.principals)
        proposed |= set(bindings_of(privileges))
    going = set(acls.bindings) - proposed
    proposed |= closing(proposed, going, asked.policy)
    table = backtest(asked, sorted(proposed))
    removed = tuple(sorted(set(acls.bindings) - proposed))
    return Proposal(
        bindings=tuple(sorted(proposed)),
        added=tuple(sorted(proposed - set(acls.bindings))),
        removed=removed,
        least_privilege=table_of(privileges, table),
        backtest=table,
        doubtful=tuple(sorted(asked.doubtful)),
        unread=asked.unread,
        accepted=tuple(sorted(wanted.accepted & set(acls.bindings))),
        # No log proves that the option is off: without it the resources are shut, else open.
        closing=tuple(sorted(closing(proposed, removed, Policy(allow_everyone=True)))),
    )


def _check(wanted: ProposalOptions) -> None:
    unknown = sorted(set(wanted.kinds) - set(KINDS))
    if unknown or not wanted.kinds:
        found = ", ".join(unknown) or "nothing"
        raise PipelineError(f"kinds of proposals: found {found}; allowed: {', '.join(KINDS)}")
    for principal in wanted.principals:
        if ":" not in principal:
            raise PipelineError(f"principal {principal!r}: expected is type:name, as User:alice")


def _check_principals(asked: GoldInput, wanted: ProposalOptions, acls: AclSet) -> None:
    """Check that principals are known: one that is spelt otherwise would have no proposal.

    Raises:
        PipelineError: one has neither an ACL nor a decision.

    """
    unknown = set(wanted.principals) - {each.entry.principal for each in acls.bindings}
    if unknown:
        unknown -= principals_of(asked)
    if unknown:
        raise PipelineError(
            f"--principal: found {', '.join(map(repr, sorted(unknown)))}, with neither an ACL nor a"
            " decision in the history"
        )


def _is_for(asked: GoldInput, wanted: ProposalOptions, binding: AclBinding) -> bool:
    is_wanted = not wanted.principals or binding.entry.principal in wanted.principals
    return is_wanted and binding not in wanted.accepted and not asked.is_doubtful(binding)


def _replaced_grants(
    asked: GoldInput,
    bindings: Iterable[AclBinding],
    wanted: ProposalOptions,
    principals: frozenset[str],
) -> set[AclBinding]:
    """Return the grants that least privilege replaces: those of principals in the history.

    Grants to ``User:*`` are replaced only if all principals get a proposal. Unseen principals
    keep their grants: only ``unused`` has evidence on them.
    """
    everybody = principals if wanted.principals else principals | {WILDCARD_PRINCIPAL}
    return {
        each
        for each in bindings
        if each.entry.permission_type is AclPermissionType.ALLOW
        and each.entry.principal in everybody
        and _is_for(asked, wanted, each)
    }


def _unneeded_grants(asked: GoldInput, acls: AclSet, wanted: ProposalOptions) -> set[AclBinding]:
    totals = usage(asked, asked.index(acls.bindings))
    found = removable(asked, acls, totals)
    going = {acls.bindings[each.binding] for each in found if each.removable}
    return {each for each in going if _is_for(asked, wanted, each)}


def _narrow(
    asked: GoldInput, acls: AclSet, wanted: ProposalOptions, proposed: set[AclBinding]
) -> set[AclBinding]:
    narrowed = set(proposed)
    instead = overbroad_in(asked, acls).instead
    for (number,), rows in instead.group_by("binding", maintain_order=True):
        binding = acls.bindings[number]
        if binding in proposed and _is_for(asked, wanted, binding):
            narrowed.discard(binding)
            narrowed.update(bindings_of(rows))
    return narrowed
