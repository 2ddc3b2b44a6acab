"""Any bytes as any message: trees and generated code refuse them, or read them, alike."""

from __future__ import annotations

from contextlib import suppress

import pytest

from doorkeeper_wire.declared import modules, tree
from doorkeeper_wire.errors import Unencodable
from doorkeeper_wire.reading import limit_elements
from testkit.fuzzing import fuzz
from testkit.wire_values import Filling, declared_outcome, generated_outcome, message_names, plain

READ = ("doorkeeper_wire.reading", "doorkeeper_wire.declared.nodes")
ELEMENTS_MAX = 1000

CASES = [
    (message.name, version)
    for declared in modules()
    for message in declared.messages
    for version in range(message.versions.low, message.versions.high + 1)
]
"""Each message in each version; two bytes of the input choose one."""

GENERATED = frozenset(message_names())


def messages(data: bytes) -> None:
    """Read the message that the first bytes choose; what its tree reads, it writes and reads."""
    name, version = CASES[int.from_bytes(data[:2]) % len(CASES)]
    body = data[2:]

    outcome = declared_outcome(name, version, limit_elements(body, ELEMENTS_MAX))

    if name in GENERATED:
        assert generated_outcome(name, version, limit_elements(body, ELEMENTS_MAX)) == outcome
    if not isinstance(outcome, str):
        node = tree(name, version)
        # Unknown tags may come in any order, but are written in that of their numbers.
        with suppress(Unencodable):
            assert plain(node.parse(node.build(node.parse(body)))) == outcome[0]


@pytest.mark.slow
def test_messages_decode_alike() -> None:
    seeds = (
        number.to_bytes(2) + node.build(Filling(sparse=sparse).record(node))
        for number, node in enumerate(tree(*case) for case in CASES)
        for sparse in (False, True)
    )

    fuzz(messages, seeds, modules=READ)
