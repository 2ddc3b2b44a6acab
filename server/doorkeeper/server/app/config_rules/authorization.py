"""Rules C5: the authorizer, super users and the nodes' own principals.

Source: ``StandardAuthorizer.configure``, ``SecurityUtils.parseKafkaPrincipal`` (4.3.1); the
upgrade notes of 4.0.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from doorkeeper.acls.super_users import remark_on
from doorkeeper.server.app.config_rules.findings import Hit
from doorkeeper.server.app.config_rules.node import CONFIG_PROVIDER
from doorkeeper.server.app.config_rules.rule import BOTH, DOORKEEPER, ERROR, WARNING, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.server.app.config_rules.node import Node

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

_OPEN_CONTROLLER: Final = "super.users=User:admin;User:ANONYMOUS"


@rule(
    "C501",
    ERROR,
    "An authorizer that was removed with ZooKeeper",
    "AclAuthorizer and SimpleAclAuthorizer stored ACLs in ZooKeeper and were removed in Kafka"
    " 4.0. StandardAuthorizer has the same rules and stores its ACLs in the KRaft metadata.",
    wrong="authorizer.class.name=kafka.security.authorizer.AclAuthorizer",
    right=f"authorizer.class.name={STANDARD}",
    since=(4, 0),
)
def removed_authorizer(node: Node) -> Iterator[Hit]:
    if node.text(AUTHORIZER) in REMOVED:
        yield node.at(
            AUTHORIZER,
            f"{node.text(AUTHORIZER)} was removed in Kafka 4.0: use {STANDARD}, which has the"
            " same rules",
        )


@rule(
    "C502",
    WARNING,
    "An authorizer that was removed with ZooKeeper, replaced here",
    "Doorkeeper accepts the names of Kafka's older authorizers and uses StandardAuthorizer for"
    " them.",
    wrong="authorizer.class.name=kafka.security.authorizer.AclAuthorizer",
    right=f"authorizer.class.name={STANDARD}",
    products=DOORKEEPER,
)
def removed_authorizer_here(node: Node) -> Iterator[Hit]:
    if node.text(AUTHORIZER) in REMOVED:
        yield node.at(
            AUTHORIZER,
            f"{node.text(AUTHORIZER)} was removed in Kafka 4.0; StandardAuthorizer is used"
            f" instead: set {STANDARD}",
        )


@rule(
    "C503",
    WARNING,
    "A third-party authorizer",
    "The class must be on the class path of every node, and has its own configuration."
    " super.users and allow.everyone.if.no.acl.found are read only by Kafka's authorizer.",
    wrong="authorizer.class.name=io.confluent.kafka.security.authorizer.ConfluentServerAuthorizer",
    right=f"authorizer.class.name={STANDARD}",
)
def foreign_authorizer(node: Node) -> Iterator[Hit]:
    name = node.text(AUTHORIZER)
    if not name or name == STANDARD or name in REMOVED:
        return
    text = f"{name} is not a class of Kafka: its own rules are not checked"
    if name.startswith("io.confluent."):
        text = f"{name} is a class of Confluent Server that Kafka does not have"
    yield node.at(AUTHORIZER, text)


@rule(
    "C504",
    ERROR,
    "A Kafka authorizer class that does not exist",
    f"The class is loaded when the node starts. Kafka's is {STANDARD}.",
    wrong="authorizer.class.name=org.apache.kafka.metadata.StandardAuthorizer",
    right=f"authorizer.class.name={STANDARD}",
)
def misspelled_authorizer(node: Node) -> Iterator[Hit]:
    name = node.text(AUTHORIZER)
    short = name.rpartition(".")[2].lower() == "standardauthorizer"
    kafkas = name.startswith(("org.apache.kafka.", "kafka."))
    if name != STANDARD and name not in REMOVED and (kafkas or short):
        yield node.at(AUTHORIZER, f"no class {name}; did you mean {STANDARD}?")


@rule(
    "C505",
    ERROR,
    "A super user without a type",
    "A principal is Type:name, and the type of users is User. Kafka's authorizer refuses to start:"
    " expected a string in format principalType:principalName.",
    wrong="super.users=User:ANONYMOUS;admin",
    right="super.users=User:ANONYMOUS;User:admin",
)
def super_user_without_type(node: Node) -> Iterator[Hit]:
    if node.text(AUTHORIZER) != STANDARD:
        return
    for user in node.super_users:
        if ":" not in user and not _is_open(user):
            yield node.at(SUPER, f"found {user!r}; allowed: Type:name, as User:{user}")


def _is_open(text: str) -> bool:
    """Return whether a text is filled in when the node starts."""
    return CONFIG_PROVIDER.search(text) is not None or "${" in text


@rule(
    "C506",
    WARNING,
    "Super users with commas",
    "super.users is split only at semicolons, because distinguished names contain commas."
    " User:a,User:b is one user with this name.",
    wrong="super.users=User:admin,User:ops",
    right="super.users=User:ANONYMOUS;User:admin;User:ops",
    products=BOTH,
)
def super_users_with_commas(node: Node) -> Iterator[Hit]:
    for user in node.super_users:
        remark = remark_on(user)
        if "semicolons" in remark:
            yield node.at(SUPER, remark)


@rule(
    "C507",
    WARNING,
    "A star as a super user",
    "Super users are compared as exact strings: User:* is the user named *, not every user.",
    wrong="super.users=User:ANONYMOUS;User:*",
    right="super.users=User:ANONYMOUS;User:admin",
    products=BOTH,
)
def star_as_super_user(node: Node) -> Iterator[Hit]:
    for user in node.super_users:
        if user.endswith(":*"):
            yield node.at(SUPER, remark_on(user))


@rule(
    "C508",
    WARNING,
    "A super user of another type",
    "Kafka's built-in principals have the type User, with this capitalization.",
    wrong="super.users=User:ANONYMOUS;user:admin",
    right="super.users=User:ANONYMOUS;User:admin",
    products=BOTH,
)
def super_user_of_another_type(node: Node) -> Iterator[Hit]:
    if node.has("principal.builder.class"):
        return
    for user in node.super_users:
        found = _PRINCIPAL.fullmatch(user)
        if found is None or found[1] == "User" or "," in user or user.endswith(":*"):
            continue
        other = (
            f"{user}: Kafka's principals have the type User; {found[1]} requires a custom"
            " principal builder"
        )
        yield node.at(SUPER, remark_on(user) or other)


@rule(
    "C509",
    WARNING,
    "Super users without an authorizer",
    "The authorizer reads super.users. Without authorizer.class.name it has no effect, and everyone"
    " may do everything.",
    wrong="authorizer.class.name=\nsuper.users=User:admin",
    right="super.users=User:admin;User:ANONYMOUS",
)
def super_users_without_authorizer(node: Node) -> Iterator[Hit]:
    for key in (SUPER, EVERYONE):
        if node.has(key) and not node.has_authorizer:
            yield node.at(key, f"has no effect without an authorizer: set {AUTHORIZER}={STANDARD}")


@rule(
    "C510",
    WARNING,
    "Authentication without an authorizer",
    "Clients must log in, but no authorizer restricts them and no super.users shows that one was"
    " meant: every login may read and delete all topics.",
    wrong="authorizer.class.name=\nsuper.users=",
    right=_OPEN_CONTROLLER,
)
def logins_without_authorizer(node: Node) -> Iterator[Hit]:
    if not node.has_authorizer and not node.has(SUPER) and node.sasl_listeners:
        text = f"every authenticated client may do everything: set {AUTHORIZER}={STANDARD}"
        yield node.at(AUTHORIZER, text)


@rule(
    "C511",
    WARNING,
    "Everything is allowed",
    "Without an authorizer every client may do everything. Every file without one is reported, also"
    " next to C509 or C510.",
    wrong="authorizer.class.name=",
    right="listener.security.protocol.map=CONTROLLER:SASL_PLAINTEXT,SASL:SASL_PLAINTEXT\n"
    "listener.name.controller.plain.sasl.jaas.config="
    "org.apache.kafka.common.security.plain.PlainLoginModule required"
    ' username="admin" password="a" user_admin="a";\n'
    "sasl.mechanism.controller.protocol=PLAIN\n"
    f"super.users=User:admin\nauthorizer.class.name={STANDARD}",
    products=BOTH,
)
def everything_allowed(node: Node) -> Iterator[Hit]:
    if not node.has_authorizer:
        yield node.at(
            AUTHORIZER,
            "everything is allowed, because there is no authorizer; to enable ACLs set"
            f" {AUTHORIZER}={STANDARD}",
        )


@rule(
    "C512",
    WARNING,
    "Everyone may use a resource without ACLs",
    "A resource without any ACL is open to everyone, also the cluster; its first ACL closes it to"
    " all others. It is safer to grant access.",
    wrong=f"{_OPEN_CONTROLLER}\nallow.everyone.if.no.acl.found=true",
    right=_OPEN_CONTROLLER,
    products=BOTH,
)
def everyone_allowed(node: Node) -> Iterator[Hit]:
    if node.has_authorizer and node.text(EVERYONE).lower() == "true":
        yield node.at(EVERYONE, "everyone may do everything with a resource without ACLs")


@rule(
    "C513",
    WARNING,
    "A value that means false",
    "The authorizer accepts true in any capitalization, and reads everything else as false.",
    wrong=f"{_OPEN_CONTROLLER}\nallow.everyone.if.no.acl.found=yes",
    right=f"{_OPEN_CONTROLLER}\nallow.everyone.if.no.acl.found=false",
)
def not_a_boolean(node: Node) -> Iterator[Hit]:
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
            login = None if module is None else module.of_class("LoginModule")
            if login is not None and "username" in login.options:
                yield listener, f"User:{login.options['username']}"


def _lacks(node: Node, principal: str) -> bool:
    open_to_all = node.text(EVERYONE).lower() == "true" or node.has("principal.builder.class")
    is_open = _is_open(node.text(SUPER)) or _is_open(principal)
    standard = node.text(AUTHORIZER) == STANDARD
    return standard and not open_to_all and not is_open and principal not in node.super_users


@rule(
    "C514",
    ERROR,
    "A node that its controllers reject",
    "A broker registers with the controllers as the principal of its connection, which needs"
    " CLUSTER_ACTION on the cluster. In a new cluster only super users have it: PLAINTEXT"
    " connections are User:ANONYMOUS. Without it, the broker shuts down after its registration"
    " timeout.",
    wrong="super.users=User:admin",
    right=_OPEN_CONTROLLER,
)
def refused_by_controllers(node: Node) -> Iterator[Hit]:
    if not {"broker", "controller"} <= node.roles or not node.controllers:
        return
    for listener, principal in own_principals(node):
        if listener == node.controllers[0] and _lacks(node, principal):
            yield node.at(
                SUPER,
                f"the node's own principal on listener {listener} is {principal}, which is not a"
                " super user: its controller will reject it",
            )


@rule(
    "C515",
    WARNING,
    "The broker's own principal is not a super user",
    "Brokers fetch from each other and register with the controllers as the principal of their"
    " connection, which needs CLUSTER_ACTION on the cluster, as a super user or by an ACL.",
    wrong="process.roles=broker\nlisteners=SASL://localhost:9092\n"
    "controller.quorum.voters=9@localhost:9093\nsuper.users=User:ops;User:ANONYMOUS",
    right="process.roles=broker\nlisteners=SASL://localhost:9092\n"
    "controller.quorum.voters=9@localhost:9093\nsuper.users=User:admin;User:ANONYMOUS",
)
def broker_is_not_super_user(node: Node) -> Iterator[Hit]:
    for listener, principal in own_principals(node):
        combined = listener in node.controllers and "controller" in node.roles
        if not combined and _lacks(node, principal):
            near = [user for user in node.super_users if user.lower() == principal.lower()]
            hint = f" (but {near[0]} is)" if near else ""
            text = (
                f"the node's own principal on listener {listener} is {principal}, which is not a"
                " super user"
            )
            yield node.at(SUPER, f"{text}{hint}")


@rule(
    "C516",
    WARNING,
    "A distinguished name with spaces after its commas",
    "The principal of a certificate is CN=x,OU=y without spaces, as Java prints it, in reverse"
    " order of the certificate. Names are compared as exact strings.",
    wrong="super.users=User:ANONYMOUS;User:CN=admin, OU=ops",
    right="super.users=User:ANONYMOUS;User:CN=admin,OU=ops",
    products=BOTH,
)
def blanks_in_distinguished_name(node: Node) -> Iterator[Hit]:
    for user in node.super_users:
        if re.search(r"=[^,]*, +[A-Za-z]+=", user):
            right = re.sub(r", +", ",", user)
            yield node.at(SUPER, f"certificate names have no space after a comma: {right}")


@rule(
    "C517",
    WARNING,
    "A super user that the mapping rules never produce",
    "ssl.principal.mapping.rules is applied before names are compared with super.users, which"
    " must therefore contain the mapped name.",
    wrong="super.users=User:ANONYMOUS;User:CN=admin,OU=ops\n"
    "ssl.principal.mapping.rules=RULE:^CN=(.*?),.*$/$1/,DEFAULT",
    right="super.users=User:ANONYMOUS;User:admin\n"
    "ssl.principal.mapping.rules=RULE:^CN=(.*?),.*$/$1/,DEFAULT",
    products=BOTH,
)
def super_user_is_mapped(node: Node) -> Iterator[Hit]:
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


@rule(
    "C518",
    WARNING,
    "A super user and a login that differ in case",
    "Principals are case-sensitive. A super user that differs from a PLAIN user only in case"
    " matches no login.",
    wrong="super.users=User:ANONYMOUS;User:Admin",
    right="super.users=User:ANONYMOUS;User:admin",
)
def super_user_in_another_case(node: Node) -> Iterator[Hit]:
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


@rule(
    "C519",
    WARNING,
    "Denied requests are not logged",
    "kafka.authorizer.logger writes denials at INFO and everything at DEBUG. At WARN or OFF,"
    " nothing shows why a client was denied.",
    wrong={
        "compose.yaml": "services: {kafka: {image: apache/kafka, environment: {"
        "KAFKA_PROCESS_ROLES: broker,\n  KAFKA_CONTROLLER_LISTENER_NAMES: CONTROLLER,\n"
        f"  KAFKA_AUTHORIZER_CLASS_NAME: {STANDARD},\n"
        "  KAFKA_LOG4J_LOGGERS: kafka.authorizer.logger=WARN}}}\n"
    },
    right={
        "compose.yaml": "services: {kafka: {image: apache/kafka, environment: {"
        "KAFKA_PROCESS_ROLES: broker,\n  KAFKA_CONTROLLER_LISTENER_NAMES: CONTROLLER,\n"
        f"  KAFKA_AUTHORIZER_CLASS_NAME: {STANDARD},\n"
        "  KAFKA_LOG4J_LOGGERS: kafka.authorizer.logger=DEBUG}}}\n"
    },
    products=BOTH,
)
def denials_not_logged(node: Node) -> Iterator[Hit]:
    if not node.has_authorizer:
        return
    levels = [entry for entry in node.file.more if entry.key == "KAFKA_LOG4J_LOGGERS"]
    levels += [entry for entry in node.entries.values() if entry.key == "doorkeeper.log.levels"]
    for entry in levels:
        for word in entry.value.split(","):
            name, _, level = (part.strip() for part in word.partition("="))
            if name == "kafka.authorizer.logger" and level.upper() in _SILENT:
                yield node.at(
                    entry,
                    f"{name}={level} hides denied requests: use INFO for denied, DEBUG for all"
                    " requests",
                )


_SILENT: Final = frozenset({"WARN", "ERROR", "FATAL", "OFF"})
