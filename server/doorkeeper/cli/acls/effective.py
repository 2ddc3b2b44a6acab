"""The decisions that change between two sets of ACLs, for ``diff`` and ``plan`` with --effective.

Each region has an example::

    + User:bob  READ, DESCRIBE  topic names that begin with 'pii-'
        as User:bob to READ topic pii-x, from 192.0.2.1
        before: no ACL covers the resource, and allow.everyone.if.no.acl.found is false
        after: this ACL allows it, and no DENY matches
          User:bob,TOPIC,PREFIXED,pii-,READ,ALLOW,*
    Decisions: 1 more allowed, 0 fewer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final

from msgspec import Struct

from doorkeeper.acls.bulk import snapshot_of
from doorkeeper.acls.decision import Decision, Question, explain
from doorkeeper.acls.effective_changes import DecisionState, EffectiveChange, effective_changes
from doorkeeper.acls.model import WILDCARD, AclBinding
from doorkeeper.acls.regions import Extent
from doorkeeper.acls.words import region_words, resource_words
from doorkeeper.cli.acls.explanations import decision_record, question_record, reason_lines
from doorkeeper.cli.acls.printing import code_block, rest_lines, row
from doorkeeper.cli.acls.question_options import (
    EffectivePolicy,
    effective_policy,
    policy_options,
    release_option,
)
from doorkeeper.cli.json_records.questions import Names, Requests
from doorkeeper.cli.json_records.sets import ChangedDecisions, Region
from doorkeeper.cli.repositories.repository import AclContents
from doorkeeper.cli.terminal import paint, printable
from doorkeeper.cli.vocabulary.options import named_option, with_options
from doorkeeper.cli.vocabulary.progress import progress
from doorkeeper.server.schema.features import LEVELS, has_networks

SHOWN_MAX: Final = 100
"""The number of regions in lines; JSON has all."""


effective_options = with_options(
    named_option("--effective", is_flag=True), policy_options, release_option
)
"""--effective and the settings that decisions depend on; ``take_difference`` reads them."""


class EffectiveDifference(Struct, frozen=True, dict=True):
    """Two states of ACLs and their policies, with sources; they are compared when that is used."""

    before: DecisionState
    after: DecisionState
    policies: tuple[EffectivePolicy, EffectivePolicy]

    @cached_property
    def changes(self) -> Sequence[EffectiveChange]:
        """Return the regions of changed decisions."""
        with progress("comparing decisions"):
            return effective_changes(self.before, self.after)

    def decisions(self, example: Question) -> tuple[Decision, Decision]:
        return explain(*self.before, example), explain(*self.after, example)


def take_difference(
    options: dict[str, Any],
    before: AclContents,
    after: AclContents,
    sets: tuple[Iterable[AclBinding], Iterable[AclBinding]],
    *,
    is_needed: bool,
) -> EffectiveDifference | None:
    """Return the difference between two sets, if it is wanted.

    Takes the options of the policy. What a side does not tell, as a file its super users, is as at
    the other side.
    """
    super_users, everyone = options.pop("super_users"), options.pop("allow_everyone")
    release: str | None = options.pop("release")
    if not is_needed:
        return None
    policies, states = [], []
    for (one, other), bindings in zip(((before, after), (after, before)), sets, strict=True):
        # A file has neither policy nor release: compared with a cluster, it is meant for that one.
        source = one if one.policy is not None else other
        policy = effective_policy(
            source.policy, super_users, allow_everyone=everyone, source=source.policy_from
        )
        networks = one.networks if one.networks is not None else other.networks is not False
        if release is not None:
            networks = has_networks(LEVELS[release])
        policies.append(policy)
        states.append(DecisionState(policy.policy, snapshot_of(bindings, networks=networks)))
    return EffectiveDifference(states[0], states[1], (policies[0], policies[1]))


def summary(changes: Collection[EffectiveChange]) -> str:
    if not changes:
        return "No decision changes."
    more = sum(change.allowed for change in changes)
    return f"Decisions: {more} more allowed, {len(changes) - more} fewer."


def lines_of_difference(difference: EffectiveDifference) -> Iterator[str]:
    """Yield the regions with their examples, then their number and the policy."""
    for change in difference.changes[:SHOWN_MAX]:
        sign, colour = ("+", "green") if change.allowed else ("-", "red")
        yield paint(f"{sign} {printable(region_words(change))}", colour)
        example = change.example
        resource = printable(resource_words(example.resource_type, example.name))
        principal, operation = printable(example.principal), example.operation.name
        yield f"    as {principal} to {operation} {resource}, from {example.host}"
        sides = (difference.before, difference.after)
        decisions = difference.decisions(example)
        for word, state, decision in zip(("before", "after"), sides, decisions, strict=True):
            yield from reason_lines(f"    {word}", state, example, decision)
    yield from rest_lines(len(difference.changes), SHOWN_MAX)
    yield summary(difference.changes)
    old, new = (policy.lines() for policy in difference.policies)
    if old != new:
        new = [*(f"before: {line}" for line in old), *(f"after: {line}" for line in new)]
    yield from new


def markdown_of_difference(difference: EffectiveDifference) -> Iterator[str]:
    """Yield the lines of Markdown: the number of regions, and a block with them."""
    yield f"**{summary(difference.changes)}**"
    if not difference.changes:
        return
    block = []
    for change in difference.changes[:SHOWN_MAX]:
        block.append(f"{'+' if change.allowed else '-'} {printable(region_words(change))}")
        decision = difference.decisions(change.example)[1 if change.allowed else 0]
        if decision.binding is not None:
            block.append(f"    {'by' if change.allowed else 'was by'} {row(decision.binding)}")
    block += rest_lines(len(difference.changes), SHOWN_MAX)
    yield from ("", *code_block(block, "diff"))


def record_of_difference(difference: EffectiveDifference) -> ChangedDecisions:
    """Return the regions and the policies for JSON."""
    before, after = difference.policies
    return {
        "effective": [_record(difference, change) for change in difference.changes],
        "policies": {"before": before.record(), "after": after.record()},
    }


def _record(difference: EffectiveDifference, change: EffectiveChange) -> Region:
    example = change.example
    before, after = map(decision_record, difference.decisions(example))
    return {
        **requests_record(change),
        "principal": change.principal,
        "operations": [operation.name for operation in change.operations],
        "example": {
            **question_record(example),
            "before": before,
            "after": after,
        },
    }


def requests_record(region: EffectiveChange) -> Requests:
    return {
        "allowed": region.allowed,
        "resourceType": region.resource_type.name,
        **_names_record(region.names),
        "exceptNames": [_names_record(names) for names in region.other_names],
        "host": region.host,
        "exceptHosts": list(region.other_hosts),
    }


def _names_record(names: Extent) -> Names:
    """Return names as the pattern that covers them."""
    if names.is_wild:
        return {"name": WILDCARD, "patternType": "LITERAL"}
    return {"name": names.text, "patternType": "LITERAL" if names.is_single else "PREFIXED"}
