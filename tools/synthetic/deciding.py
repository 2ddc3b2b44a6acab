"""Decisions of a set of ACLs by the naive reference of the tests, without the product's engine.

Each question is answered once. The host of an ACL may be a network, as in Kafka 4.4.
"""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from doorkeeper.acls.decision import Decision, RuleKind
from testkit import reference

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.acls.decision import Policy, Question
    from doorkeeper.acls.model import AclBinding


class Acls:
    """A set of ACLs that answers questions."""

    def __init__(self, bindings: Iterable[AclBinding], policy: Policy) -> None:
        """Take the bindings, and what decides beside them."""
        self._policy = policy
        self._bindings = sorted(bindings)
        self._known: dict[Question, Decision] = {}

    def decide(self, question: Question) -> Decision:
        """Return the decision, with the ACL behind it."""
        if question not in self._known:
            there = {
                _seen_from(question.host, each): each
                for each in self._bindings
                if reference.covers(each, question)
            }
            found = reference.decide(self._policy, there, question)
            binding = None if found.binding is None else there[found.binding]
            self._known[question] = Decision(found.allowed, RuleKind(found.rule), binding)
        return self._known[question]

    def allows(self, question: Question) -> bool:
        """Say whether a request is allowed."""
        return self.decide(question).allowed


def _seen_from(address: str, binding: AclBinding) -> AclBinding:
    """Return a binding for an address in place of one for a network that has it."""
    host = binding.entry.host
    if "/" not in host or ip_address(address) not in ip_network(host, strict=False):
        return binding
    return binding._replace(entry=binding.entry._replace(host=address))
