"""Rules C7: several files of one cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.server.app.config_rules.authorization import AUTHORIZER, EVERYONE, STANDARD, SUPER
from doorkeeper.server.app.config_rules.findings import Hit
from doorkeeper.server.app.config_rules.rule import cluster_rule
from doorkeeper.server.app.config_rules.sasl import TO_CONTROLLERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from doorkeeper.server.app.config_rules.node import Node

_TOKENS: Final = "delegation.token.secret.key"
_CONTROLLER: Final = (
    "process.roles=controller\nnode.id=9\nlisteners=CONTROLLER://localhost:9093\n"
    "controller.quorum.voters=9@localhost:9093\n"
    "inter.broker.listener.name=\nsuper.users=User:admin;User:ANONYMOUS\n"
)
_BROKER: Final = (
    "process.roles=broker\nnode.id=1\nlisteners=SASL://localhost:9092\n"
    "controller.quorum.voters=9@localhost:9093\nsuper.users=User:admin;User:ANONYMOUS\n"
)
_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_RIGHT: Final = {"broker.properties": _BROKER, "controller.properties": _CONTROLLER}


def _both(broker: str = "", controller: str = "") -> dict[str, str]:
    return {
        "broker.properties": f"{_BROKER}{broker}",
        "controller.properties": f"{_CONTROLLER}{controller}",
    }


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


@cluster_rule(
    "C701",
    "Controllers without an authorizer",
    "The controllers store ACLs and authorize changes of topics, users and quotas. With an"
    " authorizer on the brokers only, CreateAcls fails with: No Authorizer is configured.",
    wrong=_both(controller="authorizer.class.name=\n"),
    right=_RIGHT,
)
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


@cluster_rule(
    "C702",
    "Different super users",
    "Each node uses its own super.users: one broker may allow a request that another denies.",
    wrong=_both(controller="super.users=User:ANONYMOUS\n"),
    right=_RIGHT,
)
def different_super_users(nodes: Sequence[Node]) -> Iterator[Hit]:
    having = [node for node in nodes if node.has_authorizer]
    if having:
        yield from _differing(having, SUPER, lambda node: set(node.super_users))


@cluster_rule(
    "C703",
    "Different authorizers",
    "Nodes with different authorizers make different decisions and store their ACLs in different"
    " places.",
    wrong=_both(controller="authorizer.class.name=com.example.Rules\n"),
    right=_RIGHT,
)
def different_authorizers(nodes: Sequence[Node]) -> Iterator[Hit]:
    having = [node for node in nodes if node.has_authorizer]
    if having:
        yield from _differing(having, AUTHORIZER, lambda node: node.text(AUTHORIZER))


@cluster_rule(
    "C704",
    "Different defaults without ACLs",
    "allow.everyone.if.no.acl.found opens resources only on the nodes where it is set.",
    wrong=_both(broker="allow.everyone.if.no.acl.found=true\n"),
    right=_RIGHT,
)
def different_defaults(nodes: Sequence[Node]) -> Iterator[Hit]:
    having = [node for node in nodes if node.text(AUTHORIZER) == STANDARD]
    if having:
        yield from _differing(having, EVERYONE, lambda node: node.text(EVERYONE).lower() == "true")


@cluster_rule(
    "C705",
    "Brokers with different inter-broker listeners",
    "A broker looks up the listener with this name in the addresses of the other brokers.",
    wrong={
        "one.properties": _BROKER,
        "two.properties": f"{_BROKER}node.id=2\nlisteners=INNER://localhost:9094\n"
        "inter.broker.listener.name=INNER\n"
        "listener.security.protocol.map=INNER:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT\n"
        f"listener.name.inner.plain.sasl.jaas.config={_PLAIN} required"
        ' username="admin" password="a" user_admin="a";\n',
    },
    right={"one.properties": _BROKER, "two.properties": f"{_BROKER}node.id=2\n"},
)
def different_inter_broker_listeners(nodes: Sequence[Node]) -> Iterator[Hit]:
    brokers = [node for node in nodes if "broker" in node.roles]
    if brokers:
        yield from _differing(brokers, "inter.broker.listener.name", lambda node: node.inter_broker)


@cluster_rule(
    "C706",
    "Different protocols of the controllers' listener",
    "A broker connects to the controllers with the protocol in its own"
    " listener.security.protocol.map.",
    wrong=_both(broker="listener.security.protocol.map=CONTROLLER:SSL,SASL:SASL_PLAINTEXT\n"),
    right=_RIGHT,
)
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


@cluster_rule(
    "C707",
    "A mechanism that the controllers do not offer",
    "sasl.mechanism.controller.protocol of a broker must be among the mechanisms of the"
    " controllers' listener, and its user among their users.",
    wrong=_both(
        "listener.security.protocol.map=CONTROLLER:SASL_PLAINTEXT,SASL:SASL_PLAINTEXT\n"
        "sasl.mechanism.controller.protocol=PLAIN\n"
        f"listener.name.controller.plain.sasl.jaas.config={_PLAIN} required"
        ' username="broker" password="a";\n',
        "listener.security.protocol.map=CONTROLLER:SASL_PLAINTEXT,SASL:SASL_PLAINTEXT\n"
        "sasl.mechanism.controller.protocol=PLAIN\n"
        f"listener.name.controller.plain.sasl.jaas.config={_PLAIN} required"
        ' username="admin" password="a" user_admin="a";\n',
    ),
    right=_both(
        "listener.security.protocol.map=CONTROLLER:SASL_PLAINTEXT,SASL:SASL_PLAINTEXT\n"
        "sasl.mechanism.controller.protocol=PLAIN\n"
        f"listener.name.controller.plain.sasl.jaas.config={_PLAIN} required"
        ' username="admin" password="a";\n',
        "listener.security.protocol.map=CONTROLLER:SASL_PLAINTEXT,SASL:SASL_PLAINTEXT\n"
        "sasl.mechanism.controller.protocol=PLAIN\n"
        f"listener.name.controller.plain.sasl.jaas.config={_PLAIN} required"
        ' username="admin" password="a" user_admin="a";\n',
    ),
)
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


@cluster_rule(
    "C708",
    "Different delegation token secrets",
    "All nodes must sign and verify delegation tokens with the same secret.",
    wrong=_both("delegation.token.secret.key=one\n", "delegation.token.secret.key=two\n"),
    right=_both("delegation.token.secret.key=one\n", "delegation.token.secret.key=one\n"),
)
def different_token_secrets(nodes: Sequence[Node]) -> Iterator[Hit]:
    having = [node for node in nodes if node.has(_TOKENS)]
    if having:
        hide = "differs from the one"
        yield from _differing(having, _TOKENS, lambda node: node.text(_TOKENS), hide)


@cluster_rule(
    "C709",
    "Different mapping rules",
    "The same certificate has different names on nodes with different rules, and different ACLs"
    " apply.",
    wrong={
        "one.properties": f"{_BROKER}ssl.principal.mapping.rules=DEFAULT\n",
        "two.properties": f"{_BROKER}node.id=2\n"
        "ssl.principal.mapping.rules=RULE:^CN=(.*?),.*$/$1/\n",
    },
    right={"one.properties": _BROKER, "two.properties": f"{_BROKER}node.id=2\n"},
)
def different_mapping_rules(nodes: Sequence[Node]) -> Iterator[Hit]:
    brokers = [node for node in nodes if "broker" in node.roles]
    if brokers:
        key = "ssl.principal.mapping.rules"
        yield from _differing(brokers, key, lambda node: node.of(key).replace(" ", ""))


@cluster_rule(
    "C710",
    "Two nodes with the same id",
    "node.id is unique among brokers and controllers of a cluster.",
    wrong={"one.properties": _BROKER, "two.properties": _BROKER},
    right={"one.properties": _BROKER, "two.properties": f"{_BROKER}node.id=2\n"},
)
def same_id(nodes: Sequence[Node]) -> Iterator[Hit]:
    before: dict[str, Node] = {}
    for node in nodes:
        identity = node.text("node.id") or node.text("broker.id")
        if not identity:
            continue
        if identity in before:
            yield node.at("node.id", f"found {identity}, as in {before[identity].name}")
        before[identity] = node
