"""Rules C2: listeners, their protocols and their prefixes.

Source: ``KafkaConfig.validateValues``, ``SocketServerConfigs.listenerListToEndPoints``,
``AbstractConfig.valuesWithPrefixOverride`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from doorkeeper.base.entry import Entry, Problem
from doorkeeper.base.key import Scope
from doorkeeper.server.app.config_rules.keys import bare_name
from doorkeeper.server.app.config_rules.node import Node, addresses_in
from doorkeeper.server.app.config_rules.rule import BOTH, ERROR, WARNING, rule
from doorkeeper.server.config.keys import KEYS
from doorkeeper.server.config.listeners import PROTOCOLS, address_of
from doorkeeper.server.config.naming import LISTENER_PREFIX
from doorkeeper.server.config.sasl import similar

MAP: Final = "listener.security.protocol.map"
NAMES: Final = "controller.listener.names"
ADVERTISED: Final = "advertised.listeners"
ZOOKEEPER: Final = "zookeeper.connect"


@rule("C201", ERROR, since=(4, 0))
def without_roles(node: Node) -> Iterator[Problem]:
    if not node.is_kraft and not node.file.is_image:
        text = "not set; Kafka 4.0 and later require broker, controller or both"
        if node.has(ZOOKEEPER):
            text += ": this file is for ZooKeeper mode, which was removed"
        yield node.at("process.roles", text)


@rule("C202", ERROR)
def listener_without_protocol(node: Node) -> Iterator[Problem]:
    if node.is_open(NAMES, required=("listeners", MAP)):
        return
    written = {name for name, _ in node.protocol_pairs()}
    for name in node.known_listeners:
        if name not in node.protocols and name not in written:
            near = similar(name, sorted(written))
            hint = f"; found {near}" if near else ""
            yield node.at(MAP, f"no entry for listener {name}{hint}")


@rule("C203", ERROR)
def unknown_protocol(node: Node) -> Iterator[Problem]:
    entry = node.entries.get(MAP)
    if entry is None or node.is_template(entry):
        return
    for name, protocol in node.protocol_pairs():
        if protocol not in PROTOCOLS:
            found = f"found {name}:{protocol}" if protocol else f"found {name!r}"
            yield node.at(MAP, f"{found}; allowed: NAME:PROTOCOL with {', '.join(PROTOCOLS)}")


@rule("C204", ERROR)
def malformed_address(node: Node) -> Iterator[Problem]:
    for key in ("listeners", ADVERTISED):
        entry = node.entries.get(key)
        if entry is None or node.is_template(entry):
            continue
        for word in node.words(key):
            if address_of(word) is None:
                yield node.at(key, f"found {word!r}; allowed: NAME://host:port")
        if key == "listeners" and not entry.value.strip():
            yield node.at(key, "found nothing; allowed: NAME://host:port, ...")


@rule("C205", ERROR)
def same_name_or_port(node: Node) -> Iterator[Problem]:
    for key in ("listeners", ADVERTISED):
        if node.is_open(key):
            continue
        names: dict[str, int] = {}
        ports: dict[int, str] = {}
        # A node drops words of a list that are there twice.
        for name, host, port in dict.fromkeys(addresses_in(node.text(key))):
            both = ":" in host or ":" in ports.get(port, "")
            if name in names and not both:
                yield node.at(key, f"the name {name} is used twice")
            # Advertised addresses may share the port of a proxy.
            elif key == "listeners" and port and port in ports and not both:
                yield node.at(key, f"port {port} is used twice")
            names[name] = port
            ports[port] = host


@rule("C206", ERROR)
def two_inter_broker_keys(node: Node) -> Iterator[Problem]:
    keys = ("inter.broker.listener.name", "security.inter.broker.protocol")
    if set(keys) <= set(node.entries) and not node.is_open(*keys):
        text = "give either this or inter.broker.listener.name, not both"
        yield node.at("security.inter.broker.protocol", text)


@rule("C207", ERROR)
def inter_broker_not_advertised(node: Node) -> Iterator[Problem]:
    if node.is_open("listeners", ADVERTISED, "inter.broker.listener.name", required=(MAP,)):
        return
    named = node.has("inter.broker.listener.name")
    key = "inter.broker.listener.name" if named else "security.inter.broker.protocol"
    if named and node.inter_broker not in node.protocols:
        yield node.at(key, f"{MAP} has no listener {node.inter_broker}")
        return
    if "broker" not in node.roles or not node.clients or node.file.is_image:
        return
    names: Sequence[str] = node.clients
    if node.has(ADVERTISED):
        names = [address.name for address in addresses_in(node.text(ADVERTISED))]
        names = [name for name in names if name not in node.controllers]
    if node.inter_broker not in names:
        found = f"found {node.inter_broker}{'' if key in node.entries else ', the default'}"
        allowed = f"an advertised listener ({', '.join(names) or 'there is none'})"
        yield node.at(key, f"{found}; allowed: {allowed}")


@rule("C208", ERROR)
def controllers_and_roles(node: Node) -> Iterator[Problem]:
    if not node.is_kraft or not node.addresses or node.is_open("listeners", required=(NAMES,)):
        return
    others = [name for name in node.controllers if name not in node.listeners]
    own = [name for name in node.controllers if name in node.listeners]
    if not node.controllers:
        yield node.at(NAMES, "not set; expected: the name of a controller listener")
    elif "controller" in node.roles and others:
        text = f"{', '.join(others)} is not in listeners ({', '.join(node.listeners)})"
        yield node.at(NAMES, text)
    elif "controller" not in node.roles and own:
        text = f"{', '.join(own)} is in listeners, and process.roles has no controller"
        yield node.at(NAMES, text)
    if node.roles == {"controller"} and node.clients and node.controllers:
        text = f"{', '.join(node.clients)} is not in {NAMES}, and process.roles has no broker"
        yield node.at("listeners", text)
    if "broker" in node.roles and not node.clients:
        yield node.at("listeners", "all listeners are controller listeners: clients cannot connect")


@rule("C209", ERROR)
def advertised_without_listener(node: Node) -> Iterator[Problem]:
    if "broker" not in node.roles or node.is_open(ADVERTISED, required=("listeners",)):
        return
    for name, host, _ in addresses_in(node.text(ADVERTISED)):
        if name not in node.known_listeners:
            yield node.at(ADVERTISED, f"{name} is not in listeners ({', '.join(node.listeners)})")
        # Of KRaft 3.9 and later; a controller's address is for the other nodes.
        if host == "0.0.0.0":  # noqa: S104  refused, not bound
            yield node.at(ADVERTISED, f"clients cannot connect to {host}")


@rule("C210", WARNING, products=BOTH)
def prefix_of_no_listener(node: Node) -> Iterator[Problem]:
    names = [name.lower() for name in node.known_listeners]
    for entry, listener in _prefixed(node):
        if listener in names:
            continue
        if listener.lower() in names:
            yield node.at(
                entry,
                f"has no effect: write the prefix {LISTENER_PREFIX}{listener.lower()} in lower"
                " case",
            )
            continue
        full = _meant_prefix(entry.key, names)
        hint = f"; did you mean {full}?" if full else ""
        yield node.at(entry, f"there is no listener {listener.upper()}{hint}")


def _prefixed(node: Node) -> Iterator[tuple[Entry, str]]:
    """Yield the entries with a listener's prefix, and its name as written."""
    for entry in node.entries.values():
        if entry.key.startswith(LISTENER_PREFIX):
            yield entry, entry.key.removeprefix(LISTENER_PREFIX).partition(".")[0]


def _meant_prefix(key: str, names: list[str]) -> str:
    """Return the key with the listener that was probably meant; empty if none is similar."""
    rest = key.removeprefix(LISTENER_PREFIX)
    # A name with another separator: sasl.plaintext for sasl_plaintext.
    for name in names:
        begin = rest[: len(name)]
        if begin.lower().translate(_SEPARATORS) == name.translate(_SEPARATORS):
            return f"{LISTENER_PREFIX}{name}{rest[len(name) :]}"
    listener, _, after = rest.partition(".")
    near = similar(listener.lower(), names)
    return f"{LISTENER_PREFIX}{near}.{after}" if near else ""


_SEPARATORS: Final = str.maketrans("._-", "___")


@rule("C211", WARNING)
def prefix_before_key_of_node(node: Node) -> Iterator[Problem]:
    for entry, _ in _prefixed(node):
        bare = bare_name(entry.key)
        key = KEYS.get(bare)
        if key is not None and not key.ours and key.scope is Scope.SERVER:
            yield node.at(entry, f"has no effect with a listener prefix: write {bare}")


@rule("C212", WARNING)
def anonymous_super_user(node: Node) -> Iterator[Problem]:
    if "User:ANONYMOUS" not in node.super_users or not node.has_authorizer:
        return
    for address in node.addresses:
        anonymous = node.protocol(address.name) == "PLAINTEXT"
        if anonymous and not address.is_local and address.name not in node.controllers:
            text = f"every client of listener {address.name} is a super user: User:ANONYMOUS"
            yield node.at("super.users", text)


@rule("C213", WARNING)
def password_in_clear(node: Node) -> Iterator[Problem]:
    for address in node.addresses:
        if node.protocol(address.name) != "SASL_PLAINTEXT" or address.is_local:
            continue
        if "PLAIN" in node.mechanisms(address.name):
            text = f"{address.name} accepts PLAIN passwords without TLS: use SASL_SSL or SCRAM"
            yield node.at("listeners", text)


@rule("C214", ERROR)
def early_without_listener(node: Node) -> Iterator[Problem]:
    if node.is_open("listeners"):
        return
    for name in node.words("early.start.listeners"):
        if name.upper() not in node.listeners:
            text = f"{name} is not in listeners ({', '.join(node.listeners)})"
            yield node.at("early.start.listeners", text)
