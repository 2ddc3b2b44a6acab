"""Loads the authorizer that the configuration names.

(empty)                                                     none: everything is allowed
org.apache.kafka.metadata.authorizer.StandardAuthorizer     ours, as for Kafka's older ones
package.module.Class, package.module:Class                  a class of Python
name                                                        an entry point of the group below

A class with the older interface of KIP-11 is wrapped.
"""

from __future__ import annotations

import inspect

from msgspec.structs import replace

from doorkeeper.server.authorizer.contract import Authorizer
from doorkeeper.server.authorizer.older import has_older_interface, wrap
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.config.keys import AUTHORIZER_CLASS_NAME
from doorkeeper.server.config.plug_ins import PlugIn, checked_class, imported

ENTRY_POINT_GROUP = "doorkeeper.authorizers"

KAFKA_NAMES = frozenset(
    {
        "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "kafka.security.authorizer.AclAuthorizer",
        "kafka.security.auth.SimpleAclAuthorizer",
    }
)
"""Kafka's own authorizers; ours decides like the newest of them."""

ARGUMENTS = {
    name: len(inspect.signature(method).parameters) - 1
    for name, method in vars(Authorizer).items()
    if inspect.isfunction(method) and not name.startswith("_")
}
"""How many arguments the server passes to each method of an authorizer."""

OLDER_ARGUMENTS = {
    "initialize": 1,
    "authorize": 3,
    "add_acls": 2,
    "remove_acls": 2,
    "close": 0,
}
"""The same for the older interface. ``get_acls`` is called by keywords."""


PLUG_IN = PlugIn(
    AUTHORIZER_CLASS_NAME.name,
    ENTRY_POINT_GROUP,
    Authorizer,
    ARGUMENTS,
    frozenset({"create_acls", "delete_acls"}),
    KAFKA_NAMES,
    allowed="a subclass of doorkeeper.plugins.{}, or a class with the methods of KIP-11",
)


def authorizer_class(name: str) -> type[Authorizer] | None:
    """Return the class that a value of ``authorizer.class.name`` names; None for an empty one.

    Raises:
        UnusableClass: the class is missing, or is not an authorizer.
    """
    name = name.strip()
    if not name:
        return None
    if name in KAFKA_NAMES:
        return StandardAuthorizer
    named = imported(PLUG_IN, name)
    if has_older_interface(named):
        older = replace(PLUG_IN, base=object, calls=OLDER_ARGUMENTS, coroutines=())
        return wrap(checked_class(older, name, named))
    return checked_class(PLUG_IN, name, named)
