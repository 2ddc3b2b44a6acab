r"""The declared codec: a `construct` tree for every message in every version.

    >>> from doorkeeper_wire.declared import tree
    >>> tree("SaslHandshakeRequest", 1).parse(b"\x00\x05PLAIN")["mechanism"]
    'PLAIN'

The trees are built in memory, each at its first use, from the files of `schemas/messages`, of which
the generated code is made too. They are written for clarity, not speed: the tests compare the
generated code with them, and what has no generated code, such as requests that are refused, is read
and written by them, with the same limits and errors.

`model` says what a file can say, `schema_file` reads one, `trees` makes the trees of `nodes`, and
`faults` names a field that cannot be encoded.
"""

import re
from functools import cache
from typing import Any

from doorkeeper_wire.declared.model import Message, Module
from doorkeeper_wire.declared.schema_file import FOLDER, read_module, snake

__all__ = ["message", "module", "modules", "tree"]


@cache
def tree(name: str, version: int) -> Any:
    """Return the tree of a message, by its Kafka name, in a version.

    The first call imports construct, which takes 50 ms.

    Raises:
        LookupError: there is no such message or version.
    """
    # A file can be read, as for the error of an encoder, without it.
    from doorkeeper_wire.declared.trees import message_tree  # noqa: PLC0415

    declared = message(name)
    if version not in declared.versions:
        low, high = declared.versions.low, declared.versions.high
        raise LookupError(f"{name} has the versions {low} to {high}, not {version}")
    return message_tree(declared, version)


@cache
def module(name: str) -> Module:
    """Return the declarations of an API or another message, by its Kafka name.

    Raises:
        LookupError: there is none.
    """
    file = FOLDER / f"{snake(name)}.yaml"
    if not file.exists():
        raise LookupError(f"there is no message {name}")
    return read_module(file)


def message(name: str) -> Message:
    """Return the declaration of a message, by its Kafka name.

    Raises:
        LookupError: there is no such message.
    """
    api = re.sub("(?<=.)(Request|Response)$", "", name)
    for found in module(api if (FOLDER / f"{snake(api)}.yaml").exists() else name).messages:
        if found.name == name:
            return found
    raise LookupError(f"there is no message {name}")


def modules() -> list[Module]:
    """Return all declarations."""
    return [read_module(file) for file in sorted(FOLDER.glob("*.yaml"))]
