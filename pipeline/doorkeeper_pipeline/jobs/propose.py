"""Another set of ACLs instead of the one in force: narrower, and proved on the whole history.

    least-privilege  grants of principals in the history are replaced by their needs; a DENY stays
    unused           grants that the history does not need go
    overbroad        a grant that is too wide is replaced by its used accesses

A grant whose used names are generated stays in place of literal ones. A grant goes, or is replaced,
only where its verdict (``evaluation.verdicts``) permits it. What is added lies within what the ACLs
in force allow, unless ``ProposalOptions.wider`` permits more.

With ``allow.everyone.if.no.acl.found`` a binding stays where nothing else would cover its names:
without any ACL they would be open to all. For some principals alone nothing is proposed on
names that are: it would shut them to all others.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import polars as pl

from doorkeeper.acls.bulk import snapshot_of
from doorkeeper.acls.decision import Policy
from doorkeeper.acls.effective_changes import DecisionState, EffectiveChange, new_access
from doorkeeper.acls.model import WILDCARD_PRINCIPAL, AclBinding, AclPermissionType
from doorkeeper.acls.words import region_words
from doorkeeper_pipeline.amounts import amount
from doorkeeper_pipeline.errors import PipelineError
from doorkeeper_pipeline.evaluation.acl_sets import AclSet
from doorkeeper_pipeline.evaluation.literals import bindings_of
from doorkeeper_pipeline.evaluation.unread import NOTHING_UNREAD, UnreadLines
from doorkeeper_pipeline.evaluation.unused import closing, open_to_all
from doorkeeper_pipeline.evaluation.verdicts import Verdict
from doorkeeper_pipeline.jobs.backtest import backtest
from doorkeeper_pipeline.jobs.gold import GoldInput
from doorkeeper_pipeline.jobs.grants import GrantVerdict, overbroad_in, removable, usage, verdicts
from doorkeeper_pipeline.jobs.least_privilege import NO_PRIVILEGES, least_in, principals_in
from doorkeeper_pipeline.jobs.observed import principals_of

WIDER_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalOptions:
    """How a proposal is to be made.

    Attributes:
        prefixes: Whether prefixes are proposed that cover unused names.
        principals: For whom; empty for all.
        kinds: Which of least-privilege, unused and overbroad.
        accepted: The bindings that stay, since their owners accepted them until a day.
        wider: Whether ACLs may be proposed that allow more than those in force.

    """

    prefixes: bool = False
    principals: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ("least-privilege", "unused")
    accepted: Mapping[AclBinding, dt.date] = field(default_factory=dict)
    wider: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A set of ACLs instead of the one in force, and the decisions that it would change.

    Attributes:
        bindings: The whole proposed set, sorted.
        added: Its new bindings.
        removed: The bindings that it lacks.
        least_privilege: The privileges of which the new bindings are (``least_in``).
        backtest: The table of that name, for the whole history.
        allowed: The number of allowed decisions of the history; None where it was not counted.
        risks: The shortcomings of the evidence, if it was made nevertheless.
        doubtful: The principals for whom nothing is proposed, since their decisions contradict the
            ACLs; sorted.
        wider: The regions of requests that the ACLs in force do not allow, and these do, sorted.
        accepted: The bindings that stay since their owners accepted them until a day, sorted.
        unread: The lines that could not be read for certain, whose principals get no proposal.
        patterns: The grants that no literal ones replace, since their names are generated or too
            many, each with the reason; sorted.
        super_users: The super users who lose bindings, which they need without that status; sorted.
        closing: The removed bindings without which no ACL is about their names. They are open to
            all then, if ``allow.everyone.if.no.acl.found`` is set on the cluster after all.

    """

    bindings: tuple[AclBinding, ...]
    added: tuple[AclBinding, ...]
    removed: tuple[AclBinding, ...]
    least_privilege: pl.DataFrame
    backtest: pl.DataFrame
    allowed: int | None = None
    risks: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    wider: tuple[EffectiveChange, ...] = ()
    accepted: tuple[tuple[AclBinding, dt.date], ...] = ()
    super_users: tuple[str, ...] = ()
    closing: tuple[AclBinding, ...] = ()
    patterns: tuple[tuple[AclBinding, str], ...] = ()
    unread: UnreadLines = NOTHING_UNREAD


def propose(asked: GoldInput, options: ProposalOptions) -> Proposal:
    """Return the proposal.

    Raises:
        PipelineError: a principal is not in the history nor in any ACL, or the proposal would allow
            more than the ACLs in force.

    """
    acls = asked.acls
    _check_principals(asked, options, acls)
    privileges = NO_PRIVILEGES
    proposed = set(acls.bindings)
    totals = usage(asked)
    judged = verdicts(asked, totals, removable(asked, totals))
    by_binding = dict(zip(acls.bindings, judged, strict=True))
    chosen_grants = {binding for binding in acls.bindings if _is_for(options, binding)}
    going = {
        binding for binding in chosen_grants if by_binding[binding].judged.verdict is Verdict.REMOVE
    }
    replaceable = {binding for binding in chosen_grants if not by_binding[binding].narrowing}
    if "unused" in options.kinds:
        proposed -= going
    if "overbroad" in options.kinds:
        # After what is unused: a binding that went because of a wide one may be what replaces it.
        proposed = _narrow(asked, acls, replaceable, proposed)
    if "least-privilege" in options.kinds:
        principals = principals_in(asked)
        least = least_in(asked, prefixes=options.prefixes)
        used = {binding for binding in replaceable if by_binding[binding].judged.rule == "used"}
        replaced = _replaced_grants(used | going, options, principals)
        staying = _replaced_grants(acls.bindings, options, principals) - replaced
        staying.difference_update(bindings_of(least))
        if staying:
            # Next to a grant that may not be replaced yet nothing narrower is needed.
            least = least_in(asked, prefixes=options.prefixes, staying=staying)
        chosen = _chosen(asked, options, bindings_of(least))
        privileges = least.filter(pl.Series(chosen, dtype=pl.Boolean))
        proposed -= replaced
        proposed |= set(bindings_of(privileges))
    gone = set(acls.bindings) - proposed
    proposed |= closing(proposed, gone, asked.policy)
    wider = _wider(asked, proposed)
    if not options.wider:
        _refuse(wider)
    table = backtest(asked, sorted(proposed))
    removed = tuple(sorted(set(acls.bindings) - proposed))
    return Proposal(
        bindings=tuple(sorted(proposed)),
        added=tuple(sorted(proposed - set(acls.bindings))),
        removed=removed,
        least_privilege=privileges,
        backtest=table,
        doubtful=tuple(sorted(asked.proof.doubtful)),
        unread=asked.unread,
        wider=tuple(wider),
        accepted=tuple(sorted(options.accepted.items())),
        patterns=_patterns(options, by_binding) if set(options.kinds) != {"unused"} else (),
        super_users=tuple(
            sorted(asked.policy.super_users & {binding.entry.principal for binding in removed})
        ),
        # No log proves that the option is off: without it the resources are shut, else open.
        closing=tuple(sorted(closing(proposed, removed, Policy(allow_everyone=True)))),
    )


def _patterns(
    options: ProposalOptions, judged: Mapping[AclBinding, GrantVerdict]
) -> tuple[tuple[AclBinding, str], ...]:
    """Return the grants that would have been narrowed, were their names not generated."""
    return tuple(
        (binding, verdict.grant.names)
        for binding, verdict in sorted(judged.items(), key=lambda pair: pair[0])
        if verdict.grant.names and _is_for(options, binding)
    )


def _check_principals(asked: GoldInput, options: ProposalOptions, acls: AclSet) -> None:
    """Check that principals are known: one that is spelt otherwise would have no proposal."""
    for principal in options.principals:
        if ":" not in principal:
            raise PipelineError(f"principal {principal!r}: expected: type:name, such as User:alice")
    unknown = set(options.principals) - {binding.entry.principal for binding in acls.bindings}
    if unknown:
        unknown -= principals_of(asked)
    if unknown:
        raise PipelineError(
            f"--principal: {', '.join(map(repr, sorted(unknown)))} has no ACL and no decision in"
            " the history"
        )


def _wider(asked: GoldInput, proposed: Iterable[AclBinding]) -> list[EffectiveChange]:
    """Return the regions that a set allows, and the ACLs in force do not."""
    present = asked.acls.bindings
    if not present:
        # The history alone says what is in force.
        return []
    before, after = (
        DecisionState(
            asked.policy,
            snapshot_of(acls, networks=asked.networks),
        )
        for acls in (present, proposed)
    )
    return new_access(before, after)


def _refuse(wider: Sequence[EffectiveChange]) -> None:
    """Refuse a proposal that allows more than the ACLs in force."""
    if wider:
        reason = f"the proposal would newly allow {amount(len(wider), 'region')} of requests"
        shown = "".join(f"\n  {region_words(region)}" for region in wider[:WIDER_SHOWN])
        more = f"\n  and {len(wider) - WIDER_SHOWN:,} more" if len(wider) > WIDER_SHOWN else ""
        raise PipelineError(f"{reason}; to propose it anyway, add --allow-wider{shown}{more}")


def _chosen(
    asked: GoldInput, options: ProposalOptions, bindings: Sequence[AclBinding]
) -> list[bool]:
    """Return which of the least privileges are proposed."""
    # An ACL for one on what is open to all would shut it to the others.
    present = asked.acls.bindings if options.principals else ()
    is_open = open_to_all(present, asked.policy)
    return [
        _is_for(options, binding)
        and binding.entry.principal not in asked.proof.doubtful
        and not (options.principals and is_open(binding.pattern))
        for binding in bindings
    ]


def _is_for(options: ProposalOptions, binding: AclBinding) -> bool:
    is_wanted = not options.principals or binding.entry.principal in options.principals
    return is_wanted and binding not in options.accepted


def _replaced_grants(
    bindings: Iterable[AclBinding], options: ProposalOptions, principals: frozenset[str]
) -> set[AclBinding]:
    """Return the grants that least privilege replaces: those of principals in the history.

    Grants to ``User:*`` are replaced only if all principals get a proposal. Unseen principals
    keep their grants: only ``unused`` has evidence on them.
    """
    everybody = principals if options.principals else principals | {WILDCARD_PRINCIPAL}
    return {
        binding
        for binding in bindings
        if binding.entry.permission_type is AclPermissionType.ALLOW
        and binding.entry.principal in everybody
    }


def _narrow(
    asked: GoldInput,
    acls: AclSet,
    replaceable: AbstractSet[AclBinding],
    proposed: set[AclBinding],
) -> set[AclBinding]:
    narrowed = set(proposed)
    instead = overbroad_in(asked).instead
    for (number,), rows in instead.group_by("binding", maintain_order=True):
        binding = acls.bindings[number]
        if binding in proposed and binding in replaceable:
            narrowed.discard(binding)
            narrowed.update(bindings_of(rows))
    return narrowed
