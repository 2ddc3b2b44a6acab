"""Rules C3: SASL mechanisms, login modules and delegation tokens.

Source: ``JaasContext.loadServerContext``, ``ChannelBuilders``, ``SaslChannelBuilder``,
``LoginManager``, ``KerberosLogin`` and ``KafkaConfig.validateValues`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from doorkeeper.base.entry import Problem
from doorkeeper.server.app.config_rules.keys import bare_name
from doorkeeper.server.app.config_rules.node import JAAS_CONFIG, Node
from doorkeeper.server.app.config_rules.rule import BOTH, DOORKEEPER, ERROR, WARNING, rule
from doorkeeper.server.config.naming import LISTENER_PREFIX, full_names
from doorkeeper.server.config.sasl import MODULES, Module, meant_for, misspelled, similar

ENABLED: Final = "sasl.enabled.mechanisms"
HANDLER: Final = "sasl.server.callback.handler.class"
LOGIN_HANDLER: Final = "sasl.login.callback.handler.class"
LOGIN_CLASS: Final = "sasl.login.class"
SERVICE: Final = "sasl.kerberos.service.name"
BETWEEN_BROKERS: Final = "sasl.mechanism.inter.broker.protocol"
TO_CONTROLLERS: Final = "sasl.mechanism.controller.protocol"

PLAIN: Final = ".PlainLoginModule"
_SECURITY: Final = "org.apache.kafka.common.security."
_OAUTH_HANDLER: Final = f"{_SECURITY}oauthbearer.OAuthBearerValidatorCallbackHandler"
_CLASSES: Final = frozenset(name for names in MODULES.values() for name in names)
_OF_MECHANISMS: Final = (HANDLER, LOGIN_HANDLER, LOGIN_CLASS)


def _missing(node: Node, listener: str, mechanism: str) -> str:
    """Return what to write for a login module, and the key that was probably meant for it."""
    right = next(full_names(JAAS_CONFIG, listener, mechanism))
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
            text = (
                f"listener {listener} enables {mechanism}{default} but has no login module for it"
            )
            yield node.at(entry or ENABLED, f"{text}: {_missing(node, listener, mechanism)}")


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
        yield node.at(
            ENABLED, f"unknown mechanism {mechanism} (listener {listener}){hint}", listener
        )


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
        allowed = f"a mechanism of listener {node.inter_broker} ({', '.join(enabled)})"
        yield node.at(BETWEEN_BROKERS, f"found {mechanism}{default}; allowed: {allowed}")


@rule("C304", WARNING, products=BOTH)
def jaas_without_mechanism(node: Node) -> Iterator[Problem]:
    for listener, mechanism in node.logins:
        right, *wider = full_names(JAAS_CONFIG, listener, mechanism)
        wider.append(f"{mechanism.lower()}.{JAAS_CONFIG}")
        if right not in node.entries:
            yield from _without_mechanism(node, wider, right)


def _without_mechanism(node: Node, names: Iterable[str], right: str) -> Iterator[Problem]:
    for name in names:
        if name in node.entries:
            yield node.at(name, f"has no effect: the key requires its mechanism, as {right}")


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
        text = f"listener {listener.upper()} does not enable {mechanism.upper()}"
        if mechanism.lower() != mechanism or mechanism.upper() not in MODULES:
            hint = f": write {LISTENER_PREFIX}{listener}.{right}.{bare}" if right else ""
            text = f"{mechanism} is not a mechanism{hint}"
        yield node.at(entry, f"has no effect: {text}")


@rule("C306", ERROR)
def malformed_jaas(node: Node) -> Iterator[Problem]:
    for _, module in _modules(node):
        if isinstance(module.where, str) or node.is_template(module.where):
            continue
        if module.error or len(module.modules) != 1:
            text = f"found {len(module.modules)} login modules; allowed: one"
            yield node.at(module.where, module.error or text)


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
            if not known and login.name.startswith(_SECURITY) and "LoginModule" in login.name:
                known = [similar(login.name, sorted(_CLASSES))]
            if login.name not in _CLASSES and known:
                yield node.at(module.where, f"no class {login.name}; did you mean {min(known)}?")


@rule("C308", WARNING)
def module_of_another_mechanism(node: Node) -> Iterator[Problem]:
    for mechanism, module in _modules(node):
        names = MODULES.get(mechanism, ())
        wrong = [login.name for login in module.modules if login.name in _CLASSES]
        if wrong and names and not set(wrong) & set(names):
            found = wrong[0].rpartition(".")[2]
            yield node.at(module.where, f"{mechanism} requires {names[0]}; found {found}")


@rule("C309", WARNING)
def login_without_name(node: Node) -> Iterator[Problem]:
    for listener, mechanism in node.outgoing:
        module = node.module(listener, mechanism) if mechanism else None
        if module is None or not (mechanism == "PLAIN" or mechanism.startswith("SCRAM-")):
            continue
        options = module.options("LoginModule")
        missing = [name for name in ("username", "password") if name not in (options or {})]
        if options is not None and missing:
            text = f"the inter-node login with {listener} has no {' and no '.join(missing)}"
            yield node.at(module.where, text)


@rule("C310", WARNING)
def login_that_is_refused(node: Node) -> Iterator[Problem]:
    for listener, module, options in node.modules("PLAIN", PLAIN, node.outgoing):
        name = options.get("username")
        if name is None or listener not in node.listeners or node.entry(HANDLER, listener, "PLAIN"):
            continue
        expected = options.get(f"user_{name}")
        if expected is None:
            near = [key for key in options if key.lower() == f"user_{name}".lower()]
            hint = f"; found {near[0]}" if near else ""
            yield node.at(module.where, f"no option user_{name} for username={name}{hint}")
        elif expected != options.get("password"):
            yield node.at(module.where, f"password differs from user_{name}")


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
        text = f"found {mechanism}{default} which listener {listener} does not enable"
        yield node.at(TO_CONTROLLERS, f"{text} ({', '.join(offered)})")
    elif offered and _is_missing(node, listener, mechanism):
        text = f"{mechanism}{default} has no login module"
        yield node.at(TO_CONTROLLERS, f"{text}: {_missing(node, listener, mechanism)}")


@rule("C312", WARNING)
def handler_without_mechanism(node: Node) -> Iterator[Problem]:
    for listener in node.sasl_listeners:
        for key in _OF_MECHANISMS:
            mechanism = next(iter(node.mechanisms(listener)), "plain")
            right, *wider = full_names(key, listener, mechanism)
            if right not in node.entries:
                yield from _without_mechanism(node, wider, right)


@rule("C313", WARNING)
def unsigned_tokens(node: Node) -> Iterator[Problem]:
    for listener, mechanism in node.logins:
        right = next(full_names(HANDLER, listener, mechanism))
        if mechanism == "OAUTHBEARER" and right not in node.entries:
            text = f"listener {listener} accepts unsigned tokens with any name: write {right}="
            yield node.at(ENABLED, f"{text}{_OAUTH_HANDLER}", listener)


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
        options = [login.options for login in module.modules if "serviceName" in login.options]
        in_module = options[0]["serviceName"] if options else ""
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
    for listener, module, options in node.modules("PLAIN", PLAIN, node.logins):
        handler = next(full_names(HANDLER, listener, "plain"))
        if handler not in node.entries and not any(name.startswith("user_") for name in options):
            text = f'listener {listener} enables PLAIN but has no users: add user_NAME="PASSWORD"'
            yield node.at(module.where, text)


@rule("C320", WARNING)
def unread_option(node: Node) -> Iterator[Problem]:
    for _, module, options in node.modules("PLAIN", PLAIN, (*node.logins, *node.outgoing)):
        for name in options:
            if name not in ("username", "password") and not name.startswith("user_"):
                hint = "; a user is user_NAME" if name.lower().startswith("user") else ""
                yield node.at(module.where, f"PLAIN does not read the option {name}{hint}")


@rule("C321", ERROR)
def unsecured_token_without_name(node: Node) -> Iterator[Problem]:
    logins = (*node.logins, *node.outgoing)
    for listener, module, options in node.modules("OAUTHBEARER", ".OAuthBearerLoginModule", logins):
        own = next(full_names(LOGIN_HANDLER, listener, "oauthbearer"))
        named = [name for name in options if name.startswith("unsecuredLogin")]
        if own not in node.entries and named and "unsecuredLoginStringClaim_sub" not in named:
            yield node.at(module.where, "unsecuredLoginStringClaim_sub is missing")


@rule("C322", WARNING)
def unchecked_modules(node: Node) -> Iterator[Problem]:
    if node.file.jaas is not None or node.file.is_image:
        return
    for listener, mechanism in node.logins:
        absent = node.module(listener, mechanism) is None
        if absent and not _is_missing(node, listener, mechanism):
            text = f"the login module of listener {listener} for {mechanism} must be in a JAAS file"
            yield node.at(ENABLED, f"{text}: give it with --jaas-file", listener)
            return
