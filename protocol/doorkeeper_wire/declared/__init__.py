r"""The declared codec: a `construct` tree for every message in every version.

    >>> from doorkeeper_wire.declared import tree
    >>> tree("SaslHandshakeRequest", 1).parse(b"\x00\x05PLAIN").mechanism
    'PLAIN'

The generated code is made from the trees, and tested against them. They are written for clarity,
not speed, and are the only part of this package that needs construct.
"""

from importlib import import_module
from typing import Any

__all__ = ["tree", "trees"]


def tree(message: str, version: int) -> Any:
    """Return the tree of a message, by its Kafka name, in a version.

    Raises:
        LookupError: there is no such message or version.
    """
    versions = trees(message)
    if not 0 <= version < len(versions):
        raise LookupError(f"{message} has the versions 0 to {len(versions) - 1}, not {version}")
    return versions[version]


def trees(message: str) -> tuple[Any, ...]:
    """Return the trees of a message by version; one that is not there has the lowest one's.

    Raises:
        LookupError: there is no such message.
    """
    contents = import_module("doorkeeper_wire.declared.contents")
    module, constant = contents.MODULES[message]
    found: tuple[Any, ...] = getattr(import_module(f"doorkeeper_wire.declared.{module}"), constant)
    return found
