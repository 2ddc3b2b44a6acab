"""Rules C3: SASL mechanisms, login modules and delegation tokens.

Source: ``JaasContext.loadServerContext``, ``ChannelBuilders``, ``SaslChannelBuilder``,
``LoginManager``, ``KerberosLogin`` and ``KafkaConfig.validateValues`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from doorkeeper.base.entry import Entry, Problem
from doorkeeper.server.app.config_rules.keys import bare_name
from doorkeeper.server.app.config_rules.node import JAAS_CONFIG, Module, Node
from doorkeeper.server.app.config_rules.rule import BOTH, DOORKEEPER, ERROR, WARNING, rule
from doorkeeper.server.config.naming import LISTENER_PREFIX
from doorkeeper.server.config.sasl import MODULES, meant_for, misspelled, similar

ENABLED: Final = "sasl.enabled.mechanisms"
HANDLER: Final = "sasl.server.callback.handler.class"
LOGIN_HANDLER: Final = "sasl.login.callback.handler.class"
LOGIN_CLASS: Final = "sasl.login.class"
SERVICE: Final = "sasl.kerberos.service.name"
BETWEEN_BROKERS: Final = "sasl.mechanism.inter.broker.protocol"
TO_CONTROLLERS: Final = "sasl.mechanism.controller.protocol"

_CLASSES: Final = frozenset(name for names in MODULES.values() for name in names)
_OF_MECHANISMS: Final = (HANDLER, LOGIN_HANDLER, LOGIN_CLASS)


def _missing(node: Node, listener: str, mechanism: str) -> str:
    """Return what to write for a login module, and the key that was probably meant for it."""
    right = f"{LISTENER_PREFIX}{listener.lower()}.{mechanism.lower()}.{JAAS_CONFIG}"
    near = meant_for(node.entries, listener, mechanism)
    if near:
        return f"{near} is not read: write {right}"
    return f"write {right}, or a section KafkaServer in the JAAS file (--jaas-file)"


@rule("C301", ERROR)
def no_login_module(node: Node) -> Iterator[Problem]:
    for listener, mechanism in node.logins:
        entry = node.entry(ENABLED, listener)
        if node.file.is_image and (entry is None or node.is_template(entry)):
            continue
        if _is_missing(node, listener, mechanism):
            default = ", the default," if entry is None else ""
            yield node.at(
                entry or ENABLED,
                f"listener {listener} enables {mechanism}{default} but has no login module for"
                f" it: {_missing(node, listener, mechanism)}",
            )


def _is_missing(node: Node, listener: str, mechanism: str) -> bool:
    """Return whether a login module is missing for certain, whatever is in the JAAS file."""
    if node.module(listener, mechanism) is not None:
        return False
    if node.file.jaas is not None:
        return not node.file.jaas.problems
    # Without the JAAS file, only a key that is meant for the mechanism says where the module is.
    return misspelled(node.entries, listener, mechanism) != ""


@rule("C302", WARNING)
def unknown_mechanism(node: Node) -> Iterator[Problem]:
    for listener, mechanism in node.logins:
        if mechanism in MODULES:
            continue
        near = similar(mechanism.upper(), list(MODULES))
        hint = f"; did you mean {near}?" if near else ""
        where: str | Entry = node.entry(ENABLED, listener) or ENABLED
        yield node.at(where, f"unknown mechanism {mechanism} (listener {listener}){hint}")


@rule("C303", ERROR)
def inter_broker_mechanism(node: Node) -> Iterator[Problem]:
    if not node.protocol(node.inter_broker).startswith("SASL"):
        return
    if node.is_open("inter.broker.listener.name", required=(BETWEEN_BROKERS,)):
        return
    mechanism = node.of(BETWEEN_BROKERS)
    enabled = node.mechanisms(node.inter_broker)
    if mechanism not in enabled:
        default = "" if BETWEEN_BROKERS in node.entries else ", the default"
        yield node.at(
            BETWEEN_BROKERS,
            f"found {mechanism}{default}; allowed: a mechanism of listener {node.inter_broker}"
            f" ({', '.join(enabled)})",
        )


@rule("C304", WARNING, products=BOTH)
def jaas_without_mechanism(node: Node) -> Iterator[Problem]:
    for listener, mechanism in node.logins:
        right = f"{LISTENER_PREFIX}{listener.lower()}.{mechanism.lower()}.{JAAS_CONFIG}"
        if right in node.entries:
            continue
        for wider in (
            f"{LISTENER_PREFIX}{listener.lower()}.{JAAS_CONFIG}",
            f"{mechanism.lower()}.{JAAS_CONFIG}",
            JAAS_CONFIG,
        ):
            if wider in node.entries:
                yield node.at(wider, f"has no effect: the key requires its mechanism, as {right}")


@rule("C305", WARNING, products=BOTH)
def prefix_of_no_mechanism(node: Node) -> Iterator[Problem]:
    names = {name.lower(): name for name in node.known_listeners}
    for entry in node.entries.values():
        listener, _, rest = entry.key.removeprefix(LISTENER_PREFIX).partition(".")
        bare = bare_name(entry.key)
        if not entry.key.startswith(LISTENER_PREFIX) or listener not in names or rest == bare:
            continue
        mechanism = rest.removesuffix(f".{bare}")
        enabled = [name.lower() for name in node.mechanisms(names[listener])]
        enabled += [value.lower() for name, value in node.outgoing if name == names[listener]]
        if mechanism in enabled:
            continue
        # One key may enable what another listener uses: only spelling is a fault here.
        right = mechanism.lower() if mechanism.lower() in enabled else ""
        right = right or similar(mechanism.lower(), enabled)
        if mechanism.lower() != mechanism or mechanism.upper() not in MODULES:
            hint = f": write {LISTENER_PREFIX}{listener}.{right}.{bare}" if right else ""
            yield node.at(entry, f"has no effect: {mechanism} is not a mechanism{hint}")
        else:
            yield node.at(
                entry,
                f"has no effect: listener {listener.upper()} does not enable {mechanism.upper()}",
            )


@rule("C306", ERROR)
def malformed_jaas(node: Node) -> Iterator[Problem]:
    for _, module in _modules(node):
        if module.entry is None or node.is_template(module.entry):
            continue
        if module.error:
            yield node.at(module.entry, module.error)
        elif len(module.modules) != 1:
            text = f"found {len(module.modules)} login modules; allowed: one"
            yield node.at(module.entry, text)


def _modules(node: Node) -> Iterator[tuple[str, Module]]:
    """Yield the mechanism and the login module of each login, incoming and outgoing, once."""
    seen = set()
    for listener, mechanism in (*node.logins, *node.outgoing):
        module = node.module(listener, mechanism) if mechanism else None
        if module is not None and (mechanism, module.where) not in seen:
            seen.add((mechanism, module.where))
            yield mechanism, module


@rule("C307", ERROR)
def unknown_module(node: Node) -> Iterator[Problem]:
    for _, module in _modules(node):
        for login in module.modules:
            short = login.name.rpartition(".")[2]
            known = [name for name in _CLASSES if name.endswith(f".{short}")]
            known = known or ([similar(login.name, sorted(_CLASSES))] if _near(login.name) else [])
            if login.name not in _CLASSES and known:
                yield node.at(
                    module.entry or module.where,
                    f"no class {login.name}; did you mean {min(known)}?",
                )


def _near(name: str) -> bool:
    return name.startswith("org.apache.kafka.common.security.") and "LoginModule" in name


@rule("C308", WARNING)
def module_of_another_mechanism(node: Node) -> Iterator[Problem]:
    for mechanism, module in _modules(node):
        names = MODULES.get(mechanism, ())
        wrong = [login.name for login in module.modules if login.name in _CLASSES]
        if wrong and names and not set(wrong) & set(names):
            yield node.at(
                module.entry or module.where,
                f"{mechanism} requires {names[0]}; found {wrong[0].rpartition('.')[2]}",
            )


@rule("C309", WARNING)
def login_without_name(node: Node) -> Iterator[Problem]:
    for listener, mechanism in node.outgoing:
        module = node.module(listener, mechanism) if mechanism else None
        if module is None or not (mechanism == "PLAIN" or mechanism.startswith("SCRAM-")):
            continue
        login = module.of_class("LoginModule")
        if login is None:
            continue
        missing = [name for name in ("username", "password") if name not in login.options]
        if missing:
            yield node.at(
                module.entry or module.where,
                f"the inter-node login with {listener} has no {' and no '.join(missing)}",
            )


@rule("C310", WARNING)
def login_that_is_refused(node: Node) -> Iterator[Problem]:
    for listener, mechanism in node.outgoing:
        if mechanism != "PLAIN" or listener not in node.listeners:
            continue
        module = node.module(listener, mechanism)
        login = None if module is None else module.of_class(".PlainLoginModule")
        handler = node.entry(HANDLER, listener, mechanism)
        if module is None or login is None or "username" not in login.options or handler:
            continue
        name = login.options["username"]
        expected = login.options.get(f"user_{name}")
        where: str | Entry = module.entry or module.where
        if expected is None:
            near = [key for key in login.options if key.lower() == f"user_{name}".lower()]
            hint = f"; found {near[0]}" if near else ""
            yield node.at(where, f"no option user_{name} for username={name}{hint}")
        elif expected != login.options.get("password"):
            yield node.at(where, f"password differs from user_{name}")


@rule("C311", ERROR)
def login_to_controllers(node: Node) -> Iterator[Problem]:
    if not node.is_kraft or not node.controllers:
        return
    if node.is_open(required=(TO_CONTROLLERS,)):
        return
    listener = node.controllers[0]
    if not node.protocol(listener).startswith("SASL"):
        return
    mechanism = node.of(TO_CONTROLLERS)
    default = "" if TO_CONTROLLERS in node.entries else ", the default,"
    offered = node.mechanisms(listener)
    # A node with an empty list starts, and nobody logs in.
    if listener in node.listeners and offered and mechanism not in offered:
        yield node.at(
            TO_CONTROLLERS,
            f"found {mechanism}{default} which listener {listener} does not enable"
            f" ({', '.join(offered)})",
        )
    elif offered and _is_missing(node, listener, mechanism):
        yield node.at(
            TO_CONTROLLERS,
            f"{mechanism}{default} has no login module: {_missing(node, listener, mechanism)}",
        )


@rule("C312", WARNING)
def handler_without_mechanism(node: Node) -> Iterator[Problem]:
    for listener in node.sasl_listeners:
        for key in _OF_MECHANISMS:
            for name in (f"{LISTENER_PREFIX}{listener.lower()}.{key}", key):
                if name not in node.entries:
                    continue
                mechanism = next(iter(node.mechanisms(listener)), "plain").lower()
                right = f"{LISTENER_PREFIX}{listener.lower()}.{mechanism}.{key}"
                if right not in node.entries:
                    yield node.at(
                        name, f"has no effect: the key requires its mechanism, as {right}"
                    )


@rule("C313", WARNING)
def unsigned_tokens(node: Node) -> Iterator[Problem]:
    for listener, mechanism in node.logins:
        right = f"{LISTENER_PREFIX}{listener.lower()}.oauthbearer.{HANDLER}"
        if mechanism == "OAUTHBEARER" and right not in node.entries:
            yield node.at(
                node.entry(ENABLED, listener) or ENABLED,
                f"listener {listener} accepts unsigned tokens with any name: write {right}="
                "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler",
            )


@rule("C314", WARNING)
def tokens_for_others(node: Node) -> Iterator[Problem]:
    for listener, mechanism in node.logins:
        if mechanism != "OAUTHBEARER":
            continue
        if not node.of("sasl.oauthbearer.jwks.endpoint.url", listener, mechanism):
            continue
        for name in ("audience", "issuer"):
            key = f"sasl.oauthbearer.expected.{name}"
            if not node.of(key, listener, mechanism):
                yield node.at(key, f"not set: listener {listener} does not check the {name}")


@rule("C315", ERROR)
def kerberos_service(node: Node) -> Iterator[Problem]:
    for listener, mechanism in dict.fromkeys((*node.logins, *node.outgoing)):
        module = node.module(listener, mechanism) if mechanism == "GSSAPI" else None
        if module is None or not module.modules:
            continue
        named = node.of(SERVICE, listener, mechanism)
        in_module = next(
            (
                login.options["serviceName"]
                for login in module.modules
                if "serviceName" in login.options
            ),
            "",
        )
        if not named and not in_module:
            yield node.at(SERVICE, f"not set, but listener {listener} enables GSSAPI")
        elif named and in_module and named != in_module:
            yield node.at(SERVICE, f"found {named}, and serviceName={in_module} in the module")


@rule("C316", WARNING, products=BOTH)
def unread_section(node: Node) -> Iterator[Problem]:
    if node.file.jaas is None:
        return
    names = [name.lower() for name in node.known_listeners]
    for section in node.file.jaas.sections:
        listener, dot, rest = (section or "").rpartition(".KafkaServer")
        if section is None or rest or not dot or listener in names:
            continue
        near = listener.lower() if listener.lower() in names else similar(listener.lower(), names)
        hint = f"; write {near}.KafkaServer" if near else ""
        yield Problem(node.file.jaas.path, "", f"the section {section} is not used{hint}")


@rule("C317", WARNING, products=BOTH)
def tokens_without_scram(node: Node) -> Iterator[Problem]:
    keys = ("delegation.token.secret.key", "delegation.token.master.key")
    key = next((name for name in keys if node.has(name)), "")
    if not key or node.roles == {"controller"}:
        return
    if not any(mechanism.startswith("SCRAM-") for _, mechanism in node.logins):
        yield node.at(
            key,
            "set, but no listener enables SCRAM, which delegation tokens require; add"
            " SCRAM-SHA-256 or SCRAM-SHA-512 to sasl.enabled.mechanisms",
        )


@rule("C318", WARNING, products=DOORKEEPER)
def older_secret(node: Node) -> Iterator[Problem]:
    key = "delegation.token.master.key"
    if key in node.entries:
        yield node.at(key, "is deprecated: use delegation.token.secret.key")


@rule("C319", WARNING)
def plain_without_users(node: Node) -> Iterator[Problem]:
    for listener, mechanism in node.logins:
        module = node.module(listener, mechanism) if mechanism == "PLAIN" else None
        login = None if module is None else module.of_class(".PlainLoginModule")
        handler = f"{LISTENER_PREFIX}{listener.lower()}.plain.{HANDLER}"
        if module is None or login is None or handler in node.entries:
            continue
        if not any(name.startswith("user_") for name in login.options):
            yield node.at(
                module.entry or module.where,
                f'listener {listener} enables PLAIN but has no users: add user_NAME="PASSWORD"',
            )


@rule("C320", WARNING)
def unread_option(node: Node) -> Iterator[Problem]:
    for mechanism, module in _modules(node):
        login = module.of_class(".PlainLoginModule")
        if mechanism != "PLAIN" or login is None:
            continue
        for name in login.options:
            if name in ("username", "password") or name.startswith("user_"):
                continue
            where: str | Entry = module.entry or module.where
            hint = "; a user is user_NAME" if name.lower().startswith("user") else ""
            yield node.at(where, f"PLAIN does not read the option {name}{hint}")


@rule("C321", ERROR)
def unsecured_token_without_name(node: Node) -> Iterator[Problem]:
    for listener, mechanism in dict.fromkeys((*node.logins, *node.outgoing)):
        module = node.module(listener, mechanism) if mechanism == "OAUTHBEARER" else None
        login = None if module is None else module.of_class(".OAuthBearerLoginModule")
        own = f"{LISTENER_PREFIX}{listener.lower()}.oauthbearer.{LOGIN_HANDLER}"
        if module is None or login is None or own in node.entries:
            continue
        named = [name for name in login.options if name.startswith("unsecuredLogin")]
        if named and "unsecuredLoginStringClaim_sub" not in named:
            yield node.at(module.entry or module.where, "unsecuredLoginStringClaim_sub is missing")


@rule("C322", WARNING)
def unchecked_modules(node: Node) -> Iterator[Problem]:
    if node.file.jaas is not None or node.file.is_image:
        return
    for listener, mechanism in node.logins:
        absent = node.module(listener, mechanism) is None
        if absent and not _is_missing(node, listener, mechanism):
            yield node.at(
                node.entry(ENABLED, listener) or ENABLED,
                f"the login module of listener {listener} for {mechanism} must be in a JAAS file:"
                " give it with --jaas-file",
            )
            return
