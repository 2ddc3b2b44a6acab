r"""The declared codec: a `construct` tree for every message in every version.

    >>> from doorkeeper_wire.declared import tree
    >>> tree("SaslHandshakeRequest", 1).parse(b"\x00\x05PLAIN").mechanism
    'PLAIN'

The trees are built in memory, each at its first use, from the files of `schemas/messages`, of which
the generated code is made too. They are written for clarity, not speed: the tests compare the
generated code with them, and requests of APIs that are refused are read by them.

`model` says what a file can say, `schema_file` reads one, `trees` makes the trees of `nodes`, and
`faults` names a field that cannot be encoded.
"""

import re
from functools import cache
from typing import Any

from doorkeeper_wire.declared.model import Message
from doorkeeper_wire.declared.schema_file import FOLDER, read_module, snake
from doorkeeper_wire.declared.trees import message_tree

__all__ = ["message", "messages", "tree"]


@cache
def tree(name: str, version: int) -> Any:
    """Return the tree of a message, by its Kafka name, in a version.

    Raises:
        LookupError: there is no such message or version.
    """
    declared = message(name)
    if version not in declared.versions:
        low, high = declared.versions.low, declared.versions.high
        raise LookupError(f"{name} has the versions {low} to {high}, not {version}")
    return message_tree(declared, version)


@cache
def message(name: str) -> Message:
    """Return the declaration of a message, by its Kafka name.

    Raises:
        LookupError: there is no such message.
    """
    path = FOLDER / f"{snake(re.sub('(?<=.)(Request|Response)$', '', name))}.yaml"
    other = FOLDER / f"{snake(name)}.yaml"
    for file in (path, other):
        if file.exists():
            for found in read_module(file).messages:
                if found.name == name:
                    return found
    raise LookupError(f"there is no message {name}")


def messages() -> list[Message]:
    """Return the declarations of all messages."""
    return [found for file in sorted(FOLDER.glob("*.yaml")) for found in read_module(file).messages]
