"""Rules C7: several files of one cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from doorkeeper.server.app.config_rules.authorization import AUTHORIZER, EVERYONE, STANDARD, SUPER
from doorkeeper.server.app.config_rules.findings import Hit
from doorkeeper.server.app.config_rules.node import Node
from doorkeeper.server.app.config_rules.rule import cluster_rule
from doorkeeper.server.app.config_rules.sasl import TO_CONTROLLERS

_TOKENS: Final = "delegation.token.secret.key"


def _differing(
    nodes: Sequence[Node], key: str, value: Callable[[Node], object], hide: str = ""
) -> Iterator[Hit]:
    """Yield a hit for the first node whose value differs from that of the first node."""
    first = nodes[0]
    for node in nodes[1:]:
        if value(node) != value(first):
            found = hide or f"found {node.text(key)!r}, and {first.text(key)!r}"
            yield node.at(key, f"{found} in {first.name}")
            return


@cluster_rule("C701")
def controllers_without_authorizer(nodes: Sequence[Node]) -> Iterator[Hit]:
    brokers = [node for node in nodes if "broker" in node.roles]
    if not any(node.has_authorizer for node in nodes):
        return
    for node in nodes:
        if not node.has_authorizer:
            kind = "controllers" if "controller" in node.roles else "brokers"
            other = next(each for each in nodes if each.has_authorizer)
            yield node.at(
                AUTHORIZER,
                f"not set, but {other.name} has it: the {kind} need it"
                f" too{'' if node in brokers else ', or no ACL can be changed'}",
            )


@cluster_rule("C702")
def different_super_users(nodes: Sequence[Node]) -> Iterator[Hit]:
    having = [node for node in nodes if node.has_authorizer]
    if having:
        yield from _differing(having, SUPER, lambda node: set(node.super_users))


@cluster_rule("C703")
def different_authorizers(nodes: Sequence[Node]) -> Iterator[Hit]:
    having = [node for node in nodes if node.has_authorizer]
    if having:
        yield from _differing(having, AUTHORIZER, lambda node: node.text(AUTHORIZER))


@cluster_rule("C704")
def different_defaults(nodes: Sequence[Node]) -> Iterator[Hit]:
    having = [node for node in nodes if node.text(AUTHORIZER) == STANDARD]
    if having:
        yield from _differing(having, EVERYONE, lambda node: node.text(EVERYONE).lower() == "true")


@cluster_rule("C705")
def different_inter_broker_listeners(nodes: Sequence[Node]) -> Iterator[Hit]:
    brokers = [node for node in nodes if "broker" in node.roles]
    if brokers:
        yield from _differing(brokers, "inter.broker.listener.name", lambda node: node.inter_broker)


@cluster_rule("C706")
def different_controller_protocols(nodes: Sequence[Node]) -> Iterator[Hit]:
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


@cluster_rule("C707")
def login_unknown_to_controllers(nodes: Sequence[Node]) -> Iterator[Hit]:
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
    mine, users = ours.of_class(".PlainLoginModule"), theirs.of_class(".PlainLoginModule")
    if mine is None or users is None or "username" not in mine.options:
        return ""
    name = mine.options["username"]
    expected = users.options.get(f"user_{name}")
    if expected is None:
        return f"listener {listener} has no user_{name}"
    return (
        ""
        if expected == mine.options.get("password")
        else (f"user_{name} has a different password")
    )


@cluster_rule("C708")
def different_token_secrets(nodes: Sequence[Node]) -> Iterator[Hit]:
    having = [node for node in nodes if node.has(_TOKENS)]
    if having:
        hide = "differs from the one"
        yield from _differing(having, _TOKENS, lambda node: node.text(_TOKENS), hide)


@cluster_rule("C709")
def different_mapping_rules(nodes: Sequence[Node]) -> Iterator[Hit]:
    brokers = [node for node in nodes if "broker" in node.roles]
    if brokers:
        key = "ssl.principal.mapping.rules"
        yield from _differing(brokers, key, lambda node: node.of(key).replace(" ", ""))


@cluster_rule("C710")
def same_id(nodes: Sequence[Node]) -> Iterator[Hit]:
    before: dict[str, Node] = {}
    for node in nodes:
        identity = node.text("node.id") or node.text("broker.id")
        if not identity:
            continue
        if identity in before:
            yield node.at("node.id", f"found {identity}, as in {before[identity].name}")
        before[identity] = node
