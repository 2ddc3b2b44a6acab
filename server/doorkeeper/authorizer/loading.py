"""Finds the authorizer that the configuration names.

(empty)                                                     none: everything is allowed
org.apache.kafka.metadata.authorizer.StandardAuthorizer     ours, as for Kafka's older ones
package.module.Class, package.module:Class                  a class of Python
name                                                        an entry point of the group below

A class with the older interface of KIP-11 is wrapped.
"""

from __future__ import annotations

import re
from importlib import import_module
from inspect import isabstract

from doorkeeper.authorizer.contract import Authorizer
from doorkeeper.authorizer.older import has_older_interface, wrapping
from doorkeeper.authorizer.standard import StandardAuthorizer

KEY = "authorizer.class.name"

ENTRY_POINT_GROUP = "doorkeeper.authorizers"

KAFKA_NAMES = frozenset(
    {
        "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "kafka.security.authorizer.AclAuthorizer",
        "kafka.security.auth.SimpleAclAuthorizer",
    }
)
"""Kafka's own authorizers; ours decides as the newest of them."""

_JAVA_NAME = re.compile(r"(com|dev|eu|io|kafka|net|org)(\.\w+)+|[\w.]+\$\w+")
"""How names of Java classes begin, by custom, or hold a nested class."""


class UnusableAuthorizer(ValueError):
    """The configuration names something that is no authorizer; the text says key, name and why."""


def authorizer_class(name: str) -> type[Authorizer] | None:
    """Return the class that a value of ``authorizer.class.name`` names; None for an empty one.

    Raises:
        UnusableAuthorizer: there is no such class, or it is no authorizer.

    """
    name = name.strip()
    if not name:
        return None
    if name in KAFKA_NAMES:
        return StandardAuthorizer
    found = _from_path(name) if "." in name or ":" in name else _from_entry_point(name)
    if has_older_interface(found):
        return wrapping(found)
    if not (isinstance(found, type) and issubclass(found, Authorizer)):
        raise UnusableAuthorizer(
            f"{KEY}={name}: found {found!r}; allowed: a subclass of"
            " doorkeeper.authorizer.Authorizer, or a class with the methods of KIP-11"
        )
    if isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise UnusableAuthorizer(f"{KEY}={name}: the class lacks the methods {missing}")
    return found


def _from_path(name: str) -> object:
    module_name, colon, class_name = name.partition(":")
    if not colon:
        module_name, _, class_name = name.rpartition(".")
    try:
        module = import_module(module_name)
    except (Exception, SystemExit) as error:
        # A plug-in may fail in any way while it is imported; the start says so in one line.
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing == name.partition(".")[0] and _JAVA_NAME.fullmatch(name):
            raise UnusableAuthorizer(
                f"{KEY}={name}: found the name of a Java class; expected is a Python class:"
                " package.module.Class, an entry point, or one of Kafka's own names"
                f" ({', '.join(sorted(KAFKA_NAMES))})"
            ) from error
        raise UnusableAuthorizer(
            f"{KEY}={name}: cannot import {module_name}: {type(error).__name__}:"
            f" {' '.join(str(error).split())}; expected is a Python class"
        ) from error
    try:
        return getattr(module, class_name)
    except AttributeError:
        raise UnusableAuthorizer(
            f"{KEY}={name}: the module {module_name} has no {class_name}"
        ) from None


def _from_entry_point(name: str) -> object:
    # It imports mail and archives: a tenth of the start, where no entry point is named.
    from importlib.metadata import entry_points  # noqa: PLC0415

    known = {each.name: each for each in entry_points(group=ENTRY_POINT_GROUP)}
    if name not in known:
        raise UnusableAuthorizer(
            f"{KEY}={name}: found no entry point of this name in {ENTRY_POINT_GROUP}; allowed:"
            f" {', '.join(sorted(known)) or 'none is installed'}, or package.module.Class"
        )
    try:
        return known[name].load()
    except Exception as error:
        # As above.
        raise UnusableAuthorizer(
            f"{KEY}={name}: cannot load {known[name].value}: {type(error).__name__}: {error}"
        ) from error
