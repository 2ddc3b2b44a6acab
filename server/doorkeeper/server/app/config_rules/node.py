"""One node's configuration as Kafka reads it; unlike ``Settings`` it is never refused.

Source: ``KafkaConfig``, ``AbstractConfig.valuesWithPrefixOverride``, ``ListenerName`` and
``JaasContext`` (4.3.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from doorkeeper.base.entry import Entry, Problem
from doorkeeper.base.values import trim
from doorkeeper.server.config.kafka_keys import rows
from doorkeeper.server.config.keys import KEYS
from doorkeeper.server.config.listeners import PROTOCOLS, ListenerAddress, address_of
from doorkeeper.server.config.loading import ConfigFile
from doorkeeper.server.config.naming import full_names
from doorkeeper.server.config.sasl import Module, module_of

JAAS_CONFIG: Final = "sasl.jaas.config"
CONFIG_PROVIDER: Final = re.compile(r"\$\{([^}:]*):[^}]*\}")

_PLACEHOLDER: Final = re.compile(
    r"\$\{|\$\(|\{\{|\{[A-Za-z_]+\}|\$[A-Z_]{2,}|<[A-Za-z_. -]+>|@[A-Z_]+@|%[a-z_]+%"
)
"""What shells, Compose and templates replace before a node reads the file."""


class Node:
    """The values of one node. Names of listeners are in upper case."""

    def __init__(self, file: ConfigFile) -> None:
        self.file = file
        self.name = file.name
        # The last entry of a key counts.
        self.entries: Mapping[str, Entry] = {entry.key: entry for entry in file.entries}

    def at(self, where: str | Entry, text: str, listener: str = "") -> Problem:
        """Return a problem at an entry, or at a key on a listener, which may have none."""
        entry = self.entry(where, listener) if isinstance(where, str) else where
        if entry is None:
            return Problem(self.name, str(where), text)
        return Problem(entry.source, entry.key, text)

    def has(self, key: str) -> bool:
        """Return whether the key is present with a value that is not blank."""
        return bool(self.text(key))

    def text(self, key: str) -> str:
        """Return the value of a key, trimmed; empty without one."""
        entry = self.entries.get(key)
        return "" if entry is None else trim(entry.value)

    def words(self, key: str) -> list[str]:
        """Return the elements of a list, trimmed."""
        return [trim(word) for word in self.text(key).split(",") if trim(word)]

    def entry(self, key: str, listener: str = "", mechanism: str = "") -> Entry | None:
        """Return the entry in effect on a listener, or for a mechanism of it."""
        names = full_names(key, listener or None, mechanism or None)
        return next((self.entries[name] for name in names if name in self.entries), None)

    def of(self, key: str, listener: str = "", mechanism: str = "") -> str:
        """Return the text in effect on a listener, trimmed, or the default of the key."""
        entry = self.entry(key, listener, mechanism)
        return default_of(key) if entry is None else trim(entry.value)

    @cached_property
    def roles(self) -> frozenset[str]:
        """Return the roles; a node of ZooKeeper's time, and Doorkeeper, is a broker."""
        return frozenset(word.lower() for word in self.words("process.roles")) or frozenset(
            {"broker"}
        )

    @property
    def is_kraft(self) -> bool:
        return self.has("process.roles")

    @cached_property
    def addresses(self) -> tuple[ListenerAddress, ...]:
        """Return the well-formed elements of ``listeners``."""
        return tuple(addresses_in(self.of("listeners")))

    @cached_property
    def listeners(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(address.name for address in self.addresses))

    @cached_property
    def controllers(self) -> tuple[str, ...]:
        """Return the names of the controller listeners, of this node or of others."""
        return tuple(name.upper() for name in self.words("controller.listener.names"))

    @cached_property
    def clients(self) -> tuple[str, ...]:
        """Return the listeners that clients and brokers use."""
        return tuple(name for name in self.listeners if name not in self.controllers)

    @cached_property
    def known_listeners(self) -> tuple[str, ...]:
        """Return all listeners, and the controllers' that a broker connects to."""
        return tuple(dict.fromkeys((*self.listeners, *self.controllers)))

    @cached_property
    def protocols(self) -> Mapping[str, str]:
        """Return the protocol of each listener name that has a valid one."""
        key = "listener.security.protocol.map"
        pairs = dict(self.protocol_pairs())
        protocols = {name: protocol for name, protocol in pairs.items() if protocol in PROTOCOLS}
        if key in self.entries:
            return protocols
        names = (*self.controllers, *self.listeners)
        if not any(name in PROTOCOLS[1:] for name in names):
            protocols |= {name: "PLAINTEXT" for name in self.controllers if name not in PROTOCOLS}
        return protocols

    def protocol_pairs(self) -> Iterator[tuple[str, str]]:
        """Yield the pairs of ``listener.security.protocol.map``, in upper case."""
        default = ",".join(f"{name}:{name}" for name in PROTOCOLS)
        text = self.entries.get("listener.security.protocol.map")
        for pair in (default if text is None else text.value).split(","):
            name, _, protocol = pair.partition(":")
            if trim(pair):
                yield trim(name).upper(), trim(protocol).upper()

    def protocol(self, listener: str) -> str:
        """Return the protocol of a listener; empty if it has none."""
        return self.protocols.get(listener, "")

    def with_protocol(self, *protocols: str, of: Iterable[str] | None = None) -> list[str]:
        """Return the listeners with one of some protocols."""
        names = self.listeners if of is None else of
        return [name for name in names if self.protocol(name) in protocols]

    @cached_property
    def sasl_listeners(self) -> list[str]:
        return self.with_protocol("SASL_PLAINTEXT", "SASL_SSL")

    @cached_property
    def inter_broker(self) -> str:
        named = self.text("inter.broker.listener.name").upper()
        return named or (self.text("security.inter.broker.protocol").upper() or "PLAINTEXT")

    def mechanisms(self, listener: str) -> list[str]:
        """Return the names of the mechanisms of a listener, as written."""
        text = self.of("sasl.enabled.mechanisms", listener)
        return list(dict.fromkeys(trim(word) for word in text.split(",") if trim(word)))

    def module(self, listener: str, mechanism: str) -> Module | None:
        """Return the login modules that a broker uses for a mechanism; None without any."""
        return module_of(self.entries, self.file.jaas, listener, mechanism)

    def modules(
        self, mechanism: str, suffix: str, logins: Iterable[tuple[str, str]]
    ) -> Iterator[tuple[str, Module, Mapping[str, str]]]:
        """Yield listener, module and options of each login by a mechanism.

        ``suffix`` is as in ``Module.options``: logins without such a module are left out.
        """
        for listener, name in dict.fromkeys(logins):
            module = self.module(listener, name) if name == mechanism else None
            options = None if module is None else module.options(suffix)
            if module is not None and options is not None:
                yield listener, module, options

    @cached_property
    def logins(self) -> tuple[tuple[str, str], ...]:
        """Return listener and mechanism of each login that this node offers."""
        return tuple(
            (listener, mechanism)
            for listener in self.sasl_listeners
            for mechanism in self.mechanisms(listener)
        )

    @cached_property
    def outgoing(self) -> tuple[tuple[str, str], ...]:
        """Return listener and mechanism of each connection that this node makes to others.

        The mechanism is empty for listeners without SASL.
        """
        ends = []
        if "broker" in self.roles:
            ends.append((self.inter_broker, "sasl.mechanism.inter.broker.protocol"))
        if self.controllers and self.is_kraft:
            ends.append((self.controllers[0], "sasl.mechanism.controller.protocol"))
        return tuple(
            (name, self.of(key) if self.protocol(name).startswith("SASL") else "")
            for name, key in ends
        )

    @cached_property
    def super_users(self) -> tuple[str, ...]:
        """Return the elements of ``super.users``, as the authorizer splits them."""
        return tuple(trim(user) for user in self.text("super.users").split(";") if trim(user))

    @property
    def has_authorizer(self) -> bool:
        return self.has("authorizer.class.name")

    def is_template(self, entry: Entry) -> bool:
        """Return whether a value is filled in before a node reads it, by a shell or a template."""
        return _PLACEHOLDER.search(entry.value) is not None

    def is_open(self, *keys: str, required: Sequence[str] = ()) -> bool:
        """Return whether a value is not known here, so that nothing follows from it.

        It is a template; or the key is required, and a file in the container may have it.
        """
        entries = [self.entries[key] for key in (*keys, *required) if key in self.entries]
        missing = self.file.is_image and any(key not in self.entries for key in required)
        return missing or any(map(self.is_template, entries))


def default_of(key: str) -> str:
    """Return Kafka's default of a key; empty for none."""
    known = KEYS.get(key)
    if known is not None:
        return known.default or ""
    row = rows().get(key)
    return "" if row is None else row[1] or ""


def addresses_in(text: str) -> Iterator[ListenerAddress]:
    """Yield the well-formed addresses of a list."""
    return filter(None, map(address_of, map(trim, text.split(","))))
