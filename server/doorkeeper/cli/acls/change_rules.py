"""The rules of changes on the command line: their options, and what is refused.

``acl.live_changes`` has the rules. Whatever they hold back of a change refuses it as a whole,
before anything is sent. They hold for stores too, except for the one of the login: a server serves
their ACLs, now or after its next start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click
from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.acls.entities.model import Credential
from doorkeeper.acls.live_changes import OVERRIDES, Held, LiveCluster, RemovalLimits, Rule
from doorkeeper.acls.plan_application import Rules
from doorkeeper.base.errors import ErrorCode
from doorkeeper.cli.terminal import NOTHING_CHANGED, fail, say
from doorkeeper.cli.vocabulary.options import named_option

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from doorkeeper.acls.entities.plan import EntityPlan
    from doorkeeper.acls.live_changes import LiveChange
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.plan import Plan
    from doorkeeper.base.errors import ApiError
    from doorkeeper.client.identity import ScramLogin


def _accepted(
    _context: click.Context, _parameter: click.Parameter, words: tuple[str, ...]
) -> frozenset[Rule]:
    return frozenset(map(Rule, words))


def accept_option(*words: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option that accepts what rules refuse; all rules, or those of some words."""
    risks = {rule.value: risk for rule, risk in OVERRIDES.items()}
    choices = {word: risks[word] for word in words or risks}
    return named_option(
        *("--accept", "accepted"),
        type=click.Choice(tuple(choices)),
        choices=choices,
        multiple=True,
        callback=_accepted,
    )


removals_max_option = named_option(
    "--max-removals",
    "removals_max",
    type=click.IntRange(min=0),
    default_text="100, but at most half of the owned ACLs",
)


class Acceptance(Struct, frozen=True):
    """What a command permits: how many removals, and the rules that do not apply.

    ``removals_max`` of None stands for the defaults. With ``any_number`` the removals are named one
    by one, or by the resources in a question.

    Of a saved plan, ``owned`` is the number of ACLs that were owned when it was made, of which its
    removals are a share, and ``refused`` is what the rules held back then.
    """

    accepted: frozenset[Rule] = frozenset()
    removals_max: int | None = None
    any_number: bool = False
    owned: int | None = None
    refused: tuple[Held, ...] = ()

    def rules(self, cluster: LiveCluster, plan: Plan) -> Rules:
        limits = None
        if not self.any_number:
            owned = plan.unchanged + len(plan.removed) if self.owned is None else self.owned
            limits = RemovalLimits(scope=owned)
            if self.removals_max is not None:
                limits = replace(limits, number=self.removals_max, share=1.0)
        return Rules(cluster, limits, self.accepted)

    def is_accepted(self, rule: Rule) -> bool:
        return rule in self.accepted or (rule is Rule.SIZE and self.removals_max is not None)


class Verdict(Struct, frozen=True):
    """The rules for a change, and what they hold back of it, which refuses it."""

    rules: Rules
    held: tuple[Held, ...] = ()

    def require(self) -> None:
        """End the process where the change is refused."""
        if self.held:
            fail([*map(refusal_of, self.held), NOTHING_CHANGED])


def judge(
    acceptance: Acceptance,
    cluster: LiveCluster,
    present: Collection[AclBinding],
    plan: Plan,
    entities: EntityPlan | None = None,
    scram: ScramLogin | None = None,
) -> Verdict:
    """Return what the rules say of a change, after its warnings on stderr.

    ``scram`` is the credential that the login uses.
    """
    rules = acceptance.rules(cluster, plan)
    change: LiveChange = rules.judge(frozenset(present), plan)
    for warning in change.warnings:
        say(f"warning: {warning}")
    held = [*change.held]
    if entities is not None and Rule.LOCK_OUT not in acceptance.accepted:
        held += _own_credentials(entities, scram)
    # What was refused when a plan was made may be judged otherwise by now: by the rights of another
    # login, or because this one may not read a setting.
    judged = {hold.rule for hold in held}
    held += [
        hold
        for hold in acceptance.refused
        if hold.rule not in judged and not acceptance.is_accepted(hold.rule)
    ]
    return Verdict(rules, tuple(held))


def _own_credentials(entities: EntityPlan, scram: ScramLogin | None) -> Iterator[Held]:
    for change in entities.removals:
        credential = change.entity
        if isinstance(credential, Credential) and scram == (credential.user, credential.mechanism):
            yield own_credential(scram)


def own_credential(scram: ScramLogin) -> Held:
    reason = f"this login uses the user {scram.user} with {scram.mechanism}, which would be deleted"
    return Held(Rule.LOCK_OUT, frozenset(), reason)


def refusal_of(held: Held) -> str:
    """Return why a change is refused, and the option that makes it all the same."""
    more = " or --max-removals" if held.rule is Rule.SIZE else ""
    return held.text(f"--accept {{}}{more}")


def is_disabled(error: ApiError) -> bool:
    """Say whether the controllers refuse to change the ACLs that the brokers describe.

    The brokers answer DescribeAcls, the controllers CreateAcls and DeleteAcls.
    """
    return error.code is ErrorCode.SECURITY_DISABLED


MISSING_AUTHORIZER: Final = (
    "the brokers have an authorizer, but the controllers do not: set authorizer.class.name on the"
    " controllers"
)
"""What is wrong then."""
