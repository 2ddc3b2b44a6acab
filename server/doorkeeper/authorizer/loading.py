"""Finds the authorizer that the configuration names.

(empty)                                                     none: everything is allowed
org.apache.kafka.metadata.authorizer.StandardAuthorizer     ours, as for Kafka's older ones
package.module.Class, package.module:Class                  a class of Python
name                                                        an entry point of the group below

A class with the older interface of KIP-11 is wrapped.
"""

from __future__ import annotations

from inspect import isabstract

from doorkeeper.authorizer.contract import Authorizer
from doorkeeper.authorizer.older import has_older_interface, wrapping
from doorkeeper.authorizer.standard import StandardAuthorizer
from doorkeeper.config.plug_ins import UnusableClass, missing_methods, named

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


def authorizer_class(name: str) -> type[Authorizer] | None:
    """Return the class that a value of ``authorizer.class.name`` names; None for an empty one.

    Raises:
        UnusableClass: there is no such class, or it is no authorizer.

    """
    name = name.strip()
    if not name:
        return None
    if name in KAFKA_NAMES:
        return StandardAuthorizer
    found = named(KEY, name, ENTRY_POINT_GROUP, KAFKA_NAMES)
    if has_older_interface(found):
        return wrapping(found)
    if not (isinstance(found, type) and issubclass(found, Authorizer)):
        raise UnusableClass(
            f"{KEY}={name}: found {found!r}; allowed: a subclass of"
            " doorkeeper.authorizer.Authorizer, or a class with the methods of KIP-11"
        )
    if isabstract(found):
        raise UnusableClass(f"{KEY}={name}: the class lacks the methods {missing_methods(found)}")
    return found
