"""Rules C9: what only a configuration of Doorkeeper may have, and well-known passwords."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from doorkeeper.base.entry import Problem
from doorkeeper.server.app.config_rules.authorization import ANONYMOUS
from doorkeeper.server.app.config_rules.keys import is_security_key, looks_like_a_key
from doorkeeper.server.app.config_rules.node import Node
from doorkeeper.server.app.config_rules.rule import BOTH, DOORKEEPER, WARNING, rule
from doorkeeper.server.config.keys import TEST_BROKER, TEST_BROKER_KEYS
from doorkeeper.server.config.loading import NO_FILE
from doorkeeper.server.config.naming import find_key

EXAMPLE_PASSWORDS: Final = frozenset(
    {
        *("change-me", "change-me-too", "changeit"),
        *("admin-secret", "alice-secret", "bob-secret", "user1-secret"),
    }
)
"""The passwords of the sample, the pages and docker/development.properties, and Java's."""

_WORDS: Final = re.compile(r'[^\s"\';=]+')


@rule("C901", WARNING, products=BOTH)
def example_password(node: Node) -> Iterator[Problem]:
    texts = [
        (f"{entry.source}: {entry.key}", entry.value)
        for entry in node.entries.values()
        if is_security_key(entry.key) or entry.key.startswith("doorkeeper.")
    ]
    if (jaas := node.file.jaas) is not None:
        modules = (module for modules in jaas.sections.values() for module in modules)
        texts += [(jaas.path, " ".join(module.options.values())) for module in modules]
    places = [
        place for place, text in texts if not EXAMPLE_PASSWORDS.isdisjoint(_WORDS.findall(text))
    ]
    for place in dict.fromkeys(places):
        yield Problem("", "", f"{place} is a password from the examples, which is publicly known")


@rule("C902", WARNING, products=DOORKEEPER)
def keys_without_effect(node: Node) -> Iterator[Problem]:
    test_broker = node.entries.get(TEST_BROKER.name)
    is_test_broker = test_broker is not None and test_broker.value.strip().lower() == "true"
    names = [
        key
        for key in node.entries
        if find_key(key).without_effect or (key in TEST_BROKER_KEYS and not is_test_broker)
    ]
    if names:
        yield Problem("", "", f"Kafka keys that have no effect here: {', '.join(names)}")


@rule("C903", WARNING, products=DOORKEEPER)
def unknown_keys(node: Node) -> Iterator[Problem]:
    names = []
    for key, entry in node.entries.items():
        meaning = find_key(key)
        known = meaning.key is not None or meaning.without_effect or meaning.resembles is not None
        if not known and not key.startswith("doorkeeper."):
            # Without a dot it may be part of a value that is not continued.
            names.append(key if looks_like_a_key(key) else f"that of {entry.source}")
    if names:
        yield Problem("", "", f"unknown keys, which only plug-ins may read: {', '.join(names)}")


@rule("C904", WARNING, products=DOORKEEPER)
def empty_file(node: Node) -> Iterator[Problem]:
    in_file = any(entry.source.startswith(f"{node.name} line ") for entry in node.file.entries)
    if node.file.data is not None and not in_file:
        text = f"{node.name}: the file has no keys: all keys have their defaults"
        yield Problem("", "", text)


@rule("C905", WARNING, products=DOORKEEPER)
def without_a_file(node: Node) -> Iterator[Problem]:
    if node.name != NO_FILE:
        return
    text = "no configuration file is given"
    # Listeners with SASL have no anonymous clients, so the super user ANONYMOUS does not open them.
    open_to = [
        address for address in node.addresses if not node.protocol(address.name).startswith("SASL")
    ]
    if ANONYMOUS in node.super_users and open_to:
        local = all(address.is_local for address in open_to)
        who = "on this machine" if local else "who can reach this server"
        text += f": everyone {who} is an administrator (super.users={ANONYMOUS})"
    yield Problem("", "", text)
