"""Rules C5: the authorizer, super users and the nodes' own principals.

Source: ``StandardAuthorizer.configure``, ``SecurityUtils.parseKafkaPrincipal`` (4.3.1); the
upgrade notes of 4.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from doorkeeper.acls.super_users import remark_on
from doorkeeper.base.entry import Problem
from doorkeeper.server.app.config_rules.node import Node
from doorkeeper.server.app.config_rules.rule import BOTH, DOORKEEPER, ERROR, WARNING, rule

AUTHORIZER: Final = "authorizer.class.name"
SUPER: Final = "super.users"
EVERYONE: Final = "allow.everyone.if.no.acl.found"
STANDARD: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
REMOVED: Final = frozenset(
    {"kafka.security.authorizer.AclAuthorizer", "kafka.security.auth.SimpleAclAuthorizer"}
)
"""The authorizers that kept ACLs in ZooKeeper."""

_PRINCIPAL: Final = re.compile(r"([^:]+):(.*)", re.DOTALL)
_ATTRIBUTE: Final = re.compile(r"[A-Za-z]+=")
ANONYMOUS: Final = "User:ANONYMOUS"


@rule("C501", ERROR, since=(4, 0))
def removed_authorizer(node: Node) -> Iterator[Problem]:
    name = node.text(AUTHORIZER)
    if name in REMOVED:
        text = f"{name} was removed in Kafka 4.0: use {STANDARD}, which has the same rules"
        yield node.at(AUTHORIZER, text)


@rule("C502", WARNING, products=DOORKEEPER)
def removed_authorizer_here(node: Node) -> Iterator[Problem]:
    name = node.text(AUTHORIZER)
    if name in REMOVED:
        text = f"{name} was removed in Kafka 4.0; StandardAuthorizer is used instead"
        yield node.at(AUTHORIZER, f"{text}: set {STANDARD}")


@rule("C503", WARNING)
def foreign_authorizer(node: Node) -> Iterator[Problem]:
    name = node.text(AUTHORIZER)
    if not name or name == STANDARD or name in REMOVED:
        return
    text = f"{name} is not a class of Kafka: its own rules are not checked"
    if name.startswith("io.confluent."):
        text = f"{name} is a class of Confluent Server that Kafka does not have"
    yield node.at(AUTHORIZER, text)


@rule("C504", ERROR)
def misspelled_authorizer(node: Node) -> Iterator[Problem]:
    name = node.text(AUTHORIZER)
    short = name.rpartition(".")[2].lower() == "standardauthorizer"
    kafkas = name.startswith(("org.apache.kafka.", "kafka."))
    if name != STANDARD and name not in REMOVED and (kafkas or short):
        yield node.at(AUTHORIZER, f"no class {name}; did you mean {STANDARD}?")


@rule("C505", ERROR)
def super_user_without_type(node: Node) -> Iterator[Problem]:
    if node.text(AUTHORIZER) != STANDARD:
        return
    for user in node.super_users:
        if ":" not in user and not _is_open(user):
            yield node.at(SUPER, f"found {user!r}; allowed: Type:name, as User:{user}")


def _is_open(text: str) -> bool:
    """Return whether a text is filled in when the node starts, or by a config provider."""
    return "${" in text


@rule("C506", WARNING, products=BOTH)
def super_users_with_commas(node: Node) -> Iterator[Problem]:
    for user in node.super_users:
        remark = remark_on(user)
        if "semicolons" in remark:
            yield node.at(SUPER, remark)


@rule("C507", WARNING, products=BOTH)
def star_as_super_user(node: Node) -> Iterator[Problem]:
    for user in node.super_users:
        if user.endswith(":*"):
            yield node.at(SUPER, remark_on(user))


@rule("C508", WARNING, products=BOTH)
def super_user_of_another_type(node: Node) -> Iterator[Problem]:
    if node.has("principal.builder.class"):
        return
    for user in node.super_users:
        match = _PRINCIPAL.fullmatch(user)
        if match is None or match[1] == "User" or "," in user or user.endswith(":*"):
            continue
        other = (
            f"{user}: Kafka's principals have the type User; {match[1]} requires a custom"
            " principal builder"
        )
        yield node.at(SUPER, remark_on(user) or other)


@rule("C509", WARNING)
def super_users_without_authorizer(node: Node) -> Iterator[Problem]:
    for key in (SUPER, EVERYONE):
        if node.has(key) and not node.has_authorizer:
            yield node.at(key, f"has no effect without an authorizer: set {AUTHORIZER}={STANDARD}")


@rule("C510", WARNING)
def logins_without_authorizer(node: Node) -> Iterator[Problem]:
    if not node.has_authorizer and not node.has(SUPER) and node.sasl_listeners:
        text = f"every authenticated client may do everything: set {AUTHORIZER}={STANDARD}"
        yield node.at(AUTHORIZER, text)


@rule("C511", WARNING, products=BOTH)
def everything_allowed(node: Node) -> Iterator[Problem]:
    if not node.has_authorizer:
        text = "everything is allowed, because there is no authorizer; to enable ACLs set"
        yield node.at(AUTHORIZER, f"{text} {AUTHORIZER}={STANDARD}")


@rule("C512", WARNING, products=BOTH)
def everyone_allowed(node: Node) -> Iterator[Problem]:
    if node.has_authorizer and node.text(EVERYONE).lower() == "true":
        yield node.at(EVERYONE, "everyone may do everything with a resource without ACLs")


@rule("C513", WARNING)
def not_a_boolean(node: Node) -> Iterator[Problem]:
    value = node.text(EVERYONE)
    if value and value.lower() not in ("true", "false") and not _is_open(value):
        yield node.at(EVERYONE, f"found {value!r}, which is read as false; allowed: true, false")


def own_principals(node: Node) -> Iterator[tuple[str, str]]:
    """Yield listener and principal of each connection of a node whose principal is certain."""
    for listener, mechanism in node.outgoing:
        protocol = node.protocol(listener)
        if protocol == "PLAINTEXT":
            yield listener, ANONYMOUS
        elif mechanism == "PLAIN" or mechanism.startswith("SCRAM-"):
            module = node.module(listener, mechanism)
            options = (None if module is None else module.options("LoginModule")) or {}
            if "username" in options:
                yield listener, f"User:{options['username']}"


def _lacks(node: Node, principal: str) -> bool:
    open_to_all = node.text(EVERYONE).lower() == "true" or node.has("principal.builder.class")
    is_open = _is_open(node.text(SUPER)) or _is_open(principal)
    standard = node.text(AUTHORIZER) == STANDARD
    return standard and not open_to_all and not is_open and principal not in node.super_users


@rule("C514", ERROR)
def refused_by_controllers(node: Node) -> Iterator[Problem]:
    if not {"broker", "controller"} <= node.roles or not node.controllers:
        return
    for listener, principal in own_principals(node):
        if listener == node.controllers[0] and _lacks(node, principal):
            text = _LACKING.format(listener, principal)
            yield node.at(SUPER, f"{text}: its controller will reject it")


_LACKING: Final = "the node's own principal on listener {} is {}, which is not a super user"


@rule("C515", WARNING)
def broker_is_not_super_user(node: Node) -> Iterator[Problem]:
    for listener, principal in own_principals(node):
        combined = listener in node.controllers and "controller" in node.roles
        if not combined and _lacks(node, principal):
            near = [user for user in node.super_users if user.lower() == principal.lower()]
            hint = f" (but {near[0]} is)" if near else ""
            yield node.at(SUPER, f"{_LACKING.format(listener, principal)}{hint}")


@rule("C516", WARNING, products=BOTH)
def blanks_in_distinguished_name(node: Node) -> Iterator[Problem]:
    for user in node.super_users:
        if re.search(r"=[^,]*, +[A-Za-z]+=", user):
            right = re.sub(r", +", ",", user)
            yield node.at(SUPER, f"certificate names have no space after a comma: {right}")


@rule("C517", WARNING, products=BOTH)
def super_user_is_mapped(node: Node) -> Iterator[Problem]:
    key = "ssl.principal.mapping.rules"
    texts = {entry.value for entry in node.entries.values() if entry.key.endswith(key)}
    names = [user[5:] for user in node.super_users if _ATTRIBUTE.match(user[5:])]
    if len(texts) != 1 or not names:
        return
    # The parser of expressions is imported where there are rules only.
    from doorkeeper.server.security.ssl_rules import NoMatchingRule, SslRules

    for name in names:
        try:
            mapped = SslRules(*texts).name(name)
        except NoMatchingRule:
            yield node.at(SUPER, f"no mapping rule applies to {name}")
        except (ValueError, TimeoutError):
            continue
        else:
            if mapped != name:
                yield node.at(SUPER, f"the mapping rules change {name} to {mapped}")


@rule("C518", WARNING)
def super_user_in_another_case(node: Node) -> Iterator[Problem]:
    users = set()
    for listener, mechanism in node.logins:
        module = node.module(listener, mechanism) if mechanism == "PLAIN" else None
        for login in () if module is None else module.modules:
            users |= {name[5:] for name in login.options if name.startswith("user_")}
    for user in node.super_users:
        name = user.removeprefix("User:")
        near = [other for other in users if other.lower() == name.lower()]
        if near and name not in users:
            yield node.at(SUPER, f"{user} matches no login: the PLAIN user is {near[0]}")


@rule("C519", WARNING, products=BOTH)
def denials_not_logged(node: Node) -> Iterator[Problem]:
    if not node.has_authorizer:
        return
    levels = [entry for entry in node.file.more if entry.key == "KAFKA_LOG4J_LOGGERS"]
    levels += [entry for entry in node.entries.values() if entry.key == "doorkeeper.log.levels"]
    for entry in levels:
        for word in entry.value.split(","):
            name, _, level = (part.strip() for part in word.partition("="))
            if name == "kafka.authorizer.logger" and level.upper() in _SILENT:
                text = f"{name}={level} hides denied requests: use INFO for denied, DEBUG for all"
                yield node.at(entry, f"{text} requests")


_SILENT: Final = frozenset({"WARN", "ERROR", "FATAL", "OFF"})
