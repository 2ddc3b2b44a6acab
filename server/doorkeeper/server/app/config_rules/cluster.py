"""Rules C7: several files of one cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Final

from doorkeeper.base.entry import Problem
from doorkeeper.server.app.config_rules.authorization import AUTHORIZER, EVERYONE, STANDARD, SUPER
from doorkeeper.server.app.config_rules.node import Node
from doorkeeper.server.app.config_rules.principals import MAPPING
from doorkeeper.server.app.config_rules.rule import WARNING, rule
from doorkeeper.server.app.config_rules.sasl import PLAIN, TO_CONTROLLERS

_TOKENS: Final = "delegation.token.secret.key"


def _compared(
    code: str,
    key: str,
    concerns: Callable[[Node], bool],
    value: Callable[[Node], object],
    wording: str = "found {!r}, and {!r}",
) -> None:
    """Declare a rule: of the nodes that it concerns, none has another value than the first one."""

    @rule(code, WARNING, compares=True)
    def compare(nodes: Sequence[Node]) -> Iterator[Problem]:
        first, *others = [node for node in nodes if concerns(node)] or [nodes[0]]
        for node in others:
            if value(node) != value(first):
                text = wording.format(node.text(key), first.text(key))
                yield node.at(key, f"{text} in {first.name}")
                return


_HAS_AUTHORIZER: Final = attrgetter("has_authorizer")


def _is_broker(node: Node) -> bool:
    return "broker" in node.roles


_compared("C702", SUPER, _HAS_AUTHORIZER, lambda node: set(node.super_users))
_compared("C703", AUTHORIZER, _HAS_AUTHORIZER, lambda node: node.text(AUTHORIZER))
_compared(
    "C704",
    EVERYONE,
    lambda node: node.text(AUTHORIZER) == STANDARD,
    lambda node: node.text(EVERYONE).lower() == "true",
)
_compared("C705", "inter.broker.listener.name", _is_broker, attrgetter("inter_broker"))
_compared(
    "C708",
    _TOKENS,
    lambda node: node.has(_TOKENS),
    lambda node: node.text(_TOKENS),
    "differs from the one",
)
_compared("C709", MAPPING, _is_broker, lambda node: node.of(MAPPING).replace(" ", ""))


@rule("C701", WARNING, compares=True)
def controllers_without_authorizer(nodes: Sequence[Node]) -> Iterator[Problem]:
    if not any(node.has_authorizer for node in nodes):
        return
    for node in nodes:
        if not node.has_authorizer:
            kind = "controllers" if "controller" in node.roles else "brokers"
            other = next(candidate for candidate in nodes if candidate.has_authorizer)
            yield node.at(
                AUTHORIZER,
                f"not set, but {other.name} has it: the {kind} need it"
                f" too{'' if _is_broker(node) else ', or no ACL can be changed'}",
            )


@rule("C706", WARNING, compares=True)
def different_controller_protocols(nodes: Sequence[Node]) -> Iterator[Problem]:
    offered = {
        name: (node, node.protocol(name))
        for node in nodes
        if "controller" in node.roles
        for name in node.controllers
        if name in node.listeners
    }
    for node in nodes:
        name = next(iter(node.controllers), "")
        if name not in offered or not node.protocol(name):
            continue
        other, protocol = offered[name]
        if node.protocol(name) != protocol:
            yield node.at(
                "listener.security.protocol.map",
                f"{name} is {node.protocol(name)} here, and {protocol} in {other.name}",
            )


@rule("C707", WARNING, compares=True)
def login_unknown_to_controllers(nodes: Sequence[Node]) -> Iterator[Problem]:
    controllers = [node for node in nodes if "controller" in node.roles]
    for node in nodes:
        for listener, mechanism in node.outgoing:
            if not mechanism or listener not in node.controllers:
                continue
            for other in controllers:
                if other is node or listener not in other.listeners:
                    continue
                text = _refusal(node, other, listener, mechanism)
                if text:
                    yield node.at(TO_CONTROLLERS, f"{text} in {other.name}")


def _refusal(node: Node, other: Node, listener: str, mechanism: str) -> str:
    """Return why a controller refuses the login of a node; empty where it does not."""
    if mechanism not in other.mechanisms(listener):
        return f"listener {listener} does not offer {mechanism}"
    ours, theirs = node.module(listener, mechanism), other.module(listener, mechanism)
    if mechanism != "PLAIN" or ours is None or theirs is None:
        return ""
    mine, users = ours.options(PLAIN), theirs.options(PLAIN)
    if mine is None or users is None or "username" not in mine:
        return ""
    name = mine["username"]
    expected = users.get(f"user_{name}")
    if expected is None:
        return f"listener {listener} has no user_{name}"
    return "" if expected == mine.get("password") else f"user_{name} has a different password"


@rule("C710", WARNING, compares=True)
def same_id(nodes: Sequence[Node]) -> Iterator[Problem]:
    before: dict[str, Node] = {}
    for node in nodes:
        identity = node.text("node.id") or node.text("broker.id")
        if not identity:
            continue
        if identity in before:
            yield node.at("node.id", f"found {identity}, as in {before[identity].name}")
        before[identity] = node
