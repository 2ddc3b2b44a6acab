"""An answer of ``doorkeeper whoami`` as lines, and as a record for JSON."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.acls.formats.records import records
from doorkeeper.acls.model import WILDCARD_PRINCIPAL
from doorkeeper.cli.acls.near_misses import near_miss_lines, near_miss_records
from doorkeeper.cli.acls.printing import rest_lines, row
from doorkeeper.cli.json_records.questions import LiveAnswer as LiveRecord
from doorkeeper.cli.json_records.questions import (
    NameRules,
    NearMiss,
    PrincipalAcls,
    TriedRule,
    WhoAmI,
)
from doorkeeper.cli.terminal import paint, printable
from doorkeeper.cli.whoami.name_derivation import Outcome
from doorkeeper.server.config.keys import SUPER_USERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.cli.whoami.live import LiveAnswer
    from doorkeeper.cli.whoami.name_derivation import Derivation
    from doorkeeper.server.config.listeners import Listener

SHOWN_MAX: Final = 40
"""The number of ACLs in the lines; JSON has all."""


class Acls(NamedTuple):
    """The ACLs of an address, None if they may not be listed, and the super users with a source.

    ``super_users`` is None if they are not known.
    """

    bindings: Sequence[AclBinding] | None
    description: str
    super_users: frozenset[str] | None
    super_users_from: str

    def of(self, principal: str) -> list[AclBinding]:
        """Return the ACLs that name a principal, sorted."""
        return sorted(
            binding for binding in self.bindings or () if binding.entry.principal == principal
        )

    def near_misses(self, principal: str) -> list[NearMiss]:
        count = Counter(binding.entry.principal for binding in self.bindings or ())
        return near_miss_records(principal, count, lambda name: count[name], self.super_users or ())


class Answer(NamedTuple):
    """What is known of a principal, and what is inferred.

    ``subject`` is the credential: its kind and its name. ``doubts`` are assumptions on which
    ``inferred`` stands.
    """

    outcome: Outcome
    inferred: str | None
    reason: str
    subject: tuple[str, str] | None = None
    listener: Listener | None = None
    derivation: Derivation | None = None
    doubts: tuple[str, ...] = ()
    live: LiveAnswer | None = None
    address: str = ""
    acls: Acls | None = None
    note: str = ""

    @property
    def known(self) -> str | None:
        """Return the principal that a cluster has told."""
        return None if self.live is None else self.live.principal

    @property
    def principal(self) -> str | None:
        """Return the principal, known or inferred."""
        return self.known or self.inferred


# --- as lines


def lines_of(answer: Answer) -> list[str]:
    lines = [_head(answer)]
    if answer.known in (None, answer.inferred):
        lines.append(f"because: {printable(answer.reason)}")
    if answer.subject is not None:
        lines.append(printable(": ".join(answer.subject)))
    if answer.listener is not None:
        lines.append(f"listener: {answer.listener.name}, {answer.listener.security_protocol}")
    if answer.derivation is not None:
        lines += _rule_lines(answer.derivation)
    if answer.known is None:
        lines += [f"assumed: {printable(doubt)}" for doubt in answer.doubts]
    lines += _live_lines(answer)
    if answer.acls is not None and answer.principal is not None:
        lines += _acl_lines(answer.acls, answer.principal)
    return lines


def _head(answer: Answer) -> str:
    if answer.known is not None:
        return f"{paint(printable(answer.known), 'green', bold=True)} (known)"
    if answer.outcome is Outcome.REFUSED:
        return paint("REFUSED: no principal", "red", bold=True)
    if answer.inferred is None:
        return paint("NOT KNOWN", "yellow", bold=True)
    if answer.outcome is Outcome.NOT_KNOWN:
        return f"{paint('NOT KNOWN', 'yellow', bold=True)}, perhaps {printable(answer.inferred)}"
    return f"{paint(printable(answer.inferred), 'green', bold=True)} (inferred)"


def _rule_lines(derivation: Derivation) -> list[str]:
    if not derivation.key:
        return []
    if not derivation.trials and not derivation.not_reached:
        return [f"rule: {derivation.key}"]
    lines = [f"rules: {derivation.key}"]
    texts = [rule for rule, _ in derivation.trials] + list(derivation.not_reached)
    width = max(len(printable(text)) for text in texts)
    for rule, name in derivation.trials:
        sign, result = (
            (" ", "does not apply") if name is None else (">", f"gives {printable(name)}")
        )
        lines.append(f"{sign} {printable(rule):{width}}  {result}")
    lines += [f"  {printable(rule):{width}}  not reached" for rule in derivation.not_reached]
    return lines


def _live_lines(answer: Answer) -> list[str]:
    live = answer.live
    if live is None:
        return []
    if live.refusal:
        return [f"known: the login is rejected: {printable(live.refusal)}"]
    lines = [f"known: {answer.address} accepts the login"]
    if live.evidence:
        lines.append(f"known: {printable(live.evidence)}")
    if answer.note:
        lines.append(f"note: {printable(answer.note)}")
    if answer.known is None:
        hint = "" if live.created else "; --create-token finds it by creating a delegation token"
        lines.append(f"note: no response named the principal{hint}")
    elif answer.inferred not in (None, answer.known):
        lines.append(
            f"note: different from {printable(str(answer.inferred))}, which the configuration gives"
        )
    return lines


def _acl_lines(acls: Acls, principal: str) -> list[str]:
    lines = []
    if acls.bindings is None:
        lines.append(
            f"ACLs: unknown; this login is not authorized to list the ACLs of {acls.description}"
        )
    else:
        own, shared = acls.of(principal), acls.of(WILDCARD_PRINCIPAL)
        number = len(acls.bindings)
        lines.append(f"ACLs that name it: {len(own)} of {number} in {acls.description}")
        lines += _rows(own)
        if shared:
            lines.append(f"ACLs of {WILDCARD_PRINCIPAL}, which also apply to it: {len(shared)}")
            lines += _rows(shared)
    if acls.super_users is None:
        lines.append(f"{SUPER_USERS}: not known")
    else:
        is_super = "names it" if principal in acls.super_users else "does not name it"
        lines.append(f"{SUPER_USERS}: {is_super} ({acls.super_users_from})")
    return lines + near_miss_lines(acls.near_misses(principal))


def _rows(bindings: Sequence[AclBinding]) -> list[str]:
    shown = [f"  {row(binding)}" for binding in bindings[:SHOWN_MAX]]
    return [*shown, *rest_lines(len(bindings), SHOWN_MAX)]


# --- as JSON


def record_of(answer: Answer) -> WhoAmI:
    live, acls = answer.live, answer.acls
    basis = None if answer.principal is None else "known" if answer.known else "inferred"
    return {
        "principal": answer.principal,
        "basis": basis,
        "outcome": answer.outcome.name if answer.known is None else Outcome.PRINCIPAL.name,
        "inferred": answer.inferred,
        "because": answer.reason,
        "subject": None if answer.subject is None else dict([answer.subject]),
        "listener": None if answer.listener is None else answer.listener.name,
        "rules": _rule_records(answer.derivation),
        "assumed": list(answer.doubts),
        "live": None if live is None else _live_record(answer.address, live),
        "note": answer.note or None,
        "acls": None if acls is None else _acl_record(acls, answer.principal),
    }


def _rule_records(derivation: Derivation | None) -> NameRules | None:
    if derivation is None or not derivation.key:
        return None
    tried: list[TriedRule] = [
        {"rule": rule, "name": name, "result": "DOES_NOT_APPLY" if name is None else "GIVES"}
        for rule, name in derivation.trials
    ]
    rest: list[TriedRule] = [
        {"rule": rule, "name": None, "result": "NOT_REACHED"} for rule in derivation.not_reached
    ]
    return {"key": derivation.key, "tried": tried + rest}


def _live_record(address: str, live: LiveAnswer) -> LiveRecord:
    return {
        "address": address,
        "accepted": not live.refusal,
        "refusal": live.refusal or None,
        "principal": live.principal,
        "evidence": live.evidence or None,
    }


def _acl_record(acls: Acls, principal: str | None) -> PrincipalAcls:
    has_list = acls.bindings is not None and principal is not None
    super_users = acls.super_users
    return {
        "source": acls.description,
        "number": None if acls.bindings is None else len(acls.bindings),
        "own": list(records(acls.of(str(principal)))) if has_list else None,
        "everyone": list(records(acls.of(WILDCARD_PRINCIPAL))) if has_list else None,
        "superUser": None if super_users is None else principal in super_users,
        "superUsersFrom": acls.super_users_from or None,
        "nearMisses": [] if principal is None else acls.near_misses(principal),
    }
