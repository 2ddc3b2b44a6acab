"""The listeners of a server, and Kafka's rules for their names, addresses and protocols.

Source: ``KafkaConfig.validateValues`` and ``CoreUtils.listenerListToEndPoints`` (4.3.1). One rule
is more lenient than a broker's: if no key names the inter-broker listener and none is called
PLAINTEXT, it is the first advertised one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import AddressValueError, IPv6Address
from typing import NamedTuple

from doorkeeper.base.key import Key, KeyValues
from doorkeeper.base.values import INT_MAX, trim
from doorkeeper.server.config.http import HttpSettings
from doorkeeper.server.config.http_keys import HTTP_LISTENER
from doorkeeper.server.config.jaas_file import JaasFile
from doorkeeper.server.config.keys import (
    ADVERTISED_LISTENERS,
    CONTROLLER_LISTENER_NAMES,
    EARLY_START_LISTENERS,
    INTER_BROKER_LISTENER_NAME,
    LISTENER_SECURITY_PROTOCOL_MAP,
    LISTENERS,
    MAX_CONNECTIONS,
    SECURITY_INTER_BROKER_PROTOCOL,
)
from doorkeeper.server.config.naming import LISTENER_PREFIX
from doorkeeper.server.config.raw_config import RawConfig
from doorkeeper.server.config.sasl import MechanismSettings, mechanisms_of

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

# Nearly Kafka's pattern of a listener, so that the same texts are valid.
_ADDRESS = re.compile(r"([^:/]*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]{1,9})")
# Kafka takes a dot too, but listener.name.a.b.sasl.jaas.config would be that of the mechanism b on
# the listener A as well.
_NAME = re.compile(r"[A-Za-z0-9_\-]+")
_FORM = "NAME://host:port, with a name without a dot and a port from 0 to 65535"
_PORT_MAX = 65535
_LOCALHOST = "127.0.0.1"
_NOWHERE = ("0.0.0.0", "::", "0:0:0:0:0:0:0:0")  # noqa: S104  refused, not bound


class Listener(KeyValues, frozen=True, kw_only=True):
    """One address to listen on, and the options of its connections.

    ``host`` is empty for all interfaces. ``advertised_host`` is None for this machine's own name,
    ``advertised_port`` for the bound port. ``advertised`` is False for controller listeners and
    those that ``advertised.listeners`` leaves out. ``mechanisms`` is empty if clients are
    anonymous.
    """

    name: str
    security_protocol: str
    host: str
    port: int
    advertised_host: str | None
    advertised_port: int | None
    advertised: bool
    controller: bool
    early_start: bool
    mechanisms: tuple[MechanismSettings, ...] = ()
    max_connections: int

    @property
    def authenticates(self) -> bool:
        return self.security_protocol.startswith("SASL_")

    @property
    def encrypts(self) -> bool:
        return self.security_protocol.endswith("SSL")


class ListenerAddress(NamedTuple):
    """An element of ``listeners`` or ``advertised.listeners``; the name is in upper case."""

    name: str
    host: str
    port: int

    @property
    def is_local(self) -> bool:
        """Return whether only this machine can reach the address."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")


def address_of(text: str) -> ListenerAddress | None:
    """Return the address that a text is, None if it is malformed."""
    match = _ADDRESS.fullmatch(text)
    return None if match is None else ListenerAddress(match[1].upper(), match[2], int(match[3]))


def listeners_of(raw: RawConfig, jaas_file: JaasFile) -> tuple[Listener, ...]:
    """Return the listeners; record violations of rules."""
    bound = _addresses(raw, LISTENERS)
    _check_distinct(raw, bound)
    controllers = [name.upper() for name in raw[CONTROLLER_LISTENER_NAMES]]
    advertised = _advertised_addresses(raw, bound, controllers)
    protocols = _protocols(raw, bound, controllers)
    early = _early(raw, bound, controllers)
    listeners = []
    for address in bound:
        name, protocol = address.name, protocols.get(address.name)
        if protocol is None:
            continue
        is_sasl, outside = protocol.startswith("SASL_"), advertised.get(name)
        values, given_as = raw.values_of(name)
        limit = raw.entry(MAX_CONNECTIONS, name)
        # Without the prefix the key limits the whole server, and must not apply to each listener
        # again.
        has_limit = limit is not None and limit.key.startswith(LISTENER_PREFIX)
        listener = Listener(
            name=name,
            security_protocol=protocol,
            host=address.host,
            port=address.port,
            advertised_host=(outside or address).host or None,
            advertised_port=(outside or address).port or None,
            advertised=outside is not None,
            controller=name in controllers,
            early_start=name in early,
            mechanisms=mechanisms_of(raw, name, jaas_file) if is_sasl else (),
            values=values,
            given_as=given_as,
            max_connections=raw.of(MAX_CONNECTIONS, name) if has_limit else INT_MAX,
        )
        listeners.append(listener)
    return tuple(listeners)


def inter_broker_listener_of(raw: RawConfig, listeners: Sequence[Listener]) -> str:
    """Return the name of the inter-broker listener; empty after a violation of rules.

    It is the named one; else the one with the name of the protocol (PLAINTEXT by default), else the
    first with that protocol; without either key, else the first. A broker requires the name to be
    that of the protocol.
    """
    names = [listener.name for listener in listeners if listener.advertised]
    by_name = raw.entry(INTER_BROKER_LISTENER_NAME) is not None
    if by_name and raw.entry(SECURITY_INTER_BROKER_PROTOCOL) is not None:
        text = "give either this or inter.broker.listener.name, not both"
        raw.problem(SECURITY_INTER_BROKER_PROTOCOL, text)
        return ""
    key: Key[object] = INTER_BROKER_LISTENER_NAME if by_name else SECURITY_INTER_BROKER_PROTOCOL
    choice = str(raw[key] or "").upper()
    if choice in names:
        return choice
    # A name must be given exactly; a protocol is looked for.
    if not by_name:
        for listener in listeners:
            if listener.advertised and listener.security_protocol == choice:
                return listener.name
        if raw.entry(key) is None:
            return names[0] if names else ""
    if not any(problem.key == key.name for problem in raw.problems):
        raw.problem(key, f"found {choice!r}; allowed: an advertised listener ({', '.join(names)})")
    return ""


def _addresses(raw: RawConfig, key: Key[tuple[str, ...]]) -> list[ListenerAddress]:
    addresses = []
    # A repeated element counts once, as in Kafka (KIP-1161).
    for text in dict.fromkeys(raw[key]):
        address = address_of(text)
        # The name as it is written: ß is SS in capitals.
        is_name = _NAME.fullmatch(text.partition("://")[0])
        if not (address and is_name and 0 <= address.port <= _PORT_MAX):
            raw.problem(key, f"found {text!r}; allowed: {_FORM}")
        elif ("[" in text or ":" in address.host) and not _is_ipv6(address.host):
            raw.problem(key, f"found {text!r}: {address.host} is not an IPv6 address")
        else:
            addresses.append(address)
    if not addresses and not raw.problems:
        raw.problem(key, f"no listener is given; allowed: {_FORM}")
    return addresses


def _is_ipv6(host: str) -> bool:
    try:
        IPv6Address(host)
    except AddressValueError:
        return False
    return True


def check_apart(raw: RawConfig, listeners: Sequence[Listener], http: HttpSettings | None) -> None:
    """Record a problem if the operations port has the port of a listener on the same address."""
    if http is None or not http.port:
        return
    for listener in listeners:
        hosts = {_LOCALHOST if text == "localhost" else text for text in (listener.host, http.host)}
        # As far as their texts tell, they are one address.
        meet = len(hosts) == 1 or not hosts.isdisjoint(("", *_NOWHERE))
        if listener.port == http.port and meet:
            raw.problem(HTTP_LISTENER, f"port {http.port} is used by listener {listener.name}")


def _check_distinct(raw: RawConfig, addresses: Sequence[ListenerAddress]) -> None:
    names: set[str] = set()
    by_port: dict[int, list[ListenerAddress]] = {}
    for address in addresses:
        if address.name in names:
            raw.problem(LISTENERS, f"the name {address.name} is used twice")
        names.add(address.name)
        if address.port:
            by_port.setdefault(address.port, []).append(address)
    # KIP-797: two listeners may share a port only with one IPv4 and one IPv6 address. Port 0 is a
    # different free port for each.
    for port, sharing in by_port.items():
        if len(sharing) > 1 and not _one_of_each_family(sharing):
            text = f"port {port} is used by {' and '.join(a.name for a in sharing)}"
            raw.problem(LISTENERS, text)


def _one_of_each_family(addresses: Sequence[ListenerAddress]) -> bool:
    """Return whether these are two: one IPv4 address and one IPv6 address."""
    colons = [":" in address.host for address in addresses]
    dotted = [bool(re.fullmatch(r"[0-9.]+", address.host)) for address in addresses]
    return len(addresses) == 2 and any(colons) and any(dotted)


def _advertised_addresses(
    raw: RawConfig, bound: Sequence[ListenerAddress], controllers: Sequence[str]
) -> dict[str, ListenerAddress]:
    """Return the advertised addresses by the name of their listener."""
    key = ADVERTISED_LISTENERS
    if raw.entry(key) is None:
        addresses = [address for address in bound if address.name not in controllers]
        key = LISTENERS
    else:
        addresses = _addresses(raw, ADVERTISED_LISTENERS)
    # A node here serves clients on brokers' listeners in any role.
    if bound and not any(address.name not in controllers for address in bound):
        text = "all listeners are controller listeners: clients cannot connect"
        raw.problem(LISTENERS, text)
    names = {address.name for address in bound}
    for address in addresses:
        if address.name not in names:
            text = f"{address.name} is not in listeners ({', '.join(sorted(names))})"
            raw.problem(key, text)
        if address.name in controllers:
            text = f"{address.name} is a controller listener: it has no advertised address"
            raw.problem(key, text)
        if address.host in _NOWHERE:
            right = f"{address.name}://<a name or address of this machine>:{address.port}"
            text = f"clients cannot connect to {address.host}: set advertised.listeners={right}"
            raw.problem(key, text)
    return {address.name: address for address in addresses}


def _protocols(
    raw: RawConfig, bound: Sequence[ListenerAddress], controllers: Sequence[str]
) -> dict[str, str]:
    """Return the protocols by the name of their listener."""
    key = LISTENER_SECURITY_PROTOCOL_MAP
    pairs: dict[str, str] = {}
    for text in raw[key].split(","):
        name, colon, protocol = (trim(part).upper() for part in text.partition(":"))
        if colon and protocol in PROTOCOLS:
            pairs[name] = protocol
        elif trim(text):
            allowed = f"allowed: NAME:PROTOCOL with one of {', '.join(PROTOCOLS)}"
            raw.problem(key, f"found {trim(text)!r}; {allowed}")
    names = [address.name for address in bound]
    if raw.entry(key) is None and not any(name in PROTOCOLS[1:] for name in (*controllers, *names)):
        # As in Kafka, controller listeners without an entry use PLAINTEXT if no listener name
        # suggests TLS or SASL.
        pairs |= dict.fromkeys(controllers, "PLAINTEXT")
    for name in names:
        if name not in pairs:
            raw.problem(key, f"no entry for listener {name}")
    return pairs


def _early(
    raw: RawConfig, bound: Sequence[ListenerAddress], controllers: Sequence[str]
) -> Sequence[str]:
    if raw.entry(EARLY_START_LISTENERS) is None:
        # As in Kafka, whose authorizer loads its ACLs over these listeners.
        return controllers
    names = [address.name for address in bound]
    early = [name.upper() for name in raw[EARLY_START_LISTENERS]]
    for name in early:
        if name not in names:
            text = f"{name} is not in listeners ({', '.join(names)})"
            raw.problem(EARLY_START_LISTENERS, text)
    return early
