"""Bindings as rows, texts and commands."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.acls.formats.names import binding_of
from doorkeeper_pipeline.bindings import (
    ID_LENGTH,
    id_of,
)
from doorkeeper_pipeline.evaluation.literals import commands_of, frame_of

if TYPE_CHECKING:
    from doorkeeper.acls.model import AclBinding


def binding(**changed: str) -> AclBinding:
    """Return a binding."""
    words: dict[str, Any] = {
        "resource": "TOPIC",
        "name": "orders",
        "pattern": "LITERAL",
        "principal": "User:alice",
        "host": "*",
        "does": "DESCRIBE_CONFIGS",
        "permission": "ALLOW",
        **changed,
    }
    return binding_of(**words)


def command_of(binding: AclBinding, *, remove: bool = False) -> str:
    """Return the command of a binding."""
    [command] = commands_of(frame_of([binding]), remove=remove)
    assert isinstance(command, str)
    return command


def test_ids_are_derived_from_the_fields() -> None:
    ids = {
        id_of(each)
        for each in (
            binding(),
            binding(name="order"),
            binding(name="orders", principal="User:alic"),
            binding(pattern="PREFIXED"),
            binding(permission="DENY"),
            # What one field ends with, the next may begin with.
            binding(name="orders7:LITERAL"),
        )
    }

    assert len(ids) == 6
    assert id_of(binding()) == id_of(binding())
    assert {len(each) for each in ids} == {ID_LENGTH}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, "--add --allow-principal User:alice --operation DescribeConfigs --topic orders"),
        (
            {"host": "10.0.0.1", "permission": "DENY", "pattern": "PREFIXED"},
            (
                "--add --deny-principal User:alice --deny-host 10.0.0.1 --operation DescribeConfigs"
                " --topic orders --resource-pattern-type prefixed"
            ),
        ),
        (
            {"resource": "CLUSTER", "name": "kafka-cluster"},
            "--add --allow-principal User:alice --operation DescribeConfigs --cluster",
        ),
        (
            {"resource": "TRANSACTIONAL_ID", "name": "*", "does": "ALL"},
            "--add --allow-principal User:alice --operation All --transactional-id '*'",
        ),
    ],
)
def test_commands_reproduce_the_binding(changed: dict[str, str], words: str) -> None:
    head = 'kafka-acls.sh --bootstrap-server "$BOOTSTRAP" '

    assert command_of(binding(**changed)) == head + words
    assert shlex.split(command_of(binding(**changed)))[-1] == shlex.split(words)[-1]


def test_removal_command_does_not_ask() -> None:
    assert "--remove --force" in command_of(binding(), remove=True)


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "a\0b"},
        {"name": " orders"},
        {"resource": "GROUP", "does": "WRITE"},
    ],
)
def test_unrepresentable_bindings_have_no_command(changed: dict[str, str]) -> None:
    assert command_of(binding(**changed)) == ""
