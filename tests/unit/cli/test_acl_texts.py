"""Rows of ACLs, and the commands that make them."""

from __future__ import annotations

import shlex

import pytest

from doorkeeper.acl.formats.names import FormatError
from doorkeeper.acl.model import (
    CLUSTER_NAME,
    AclBinding,
    AclOperation,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acl.operations import SUPPORTED_OPERATIONS
from doorkeeper.cli.acl_options import additions, entry_options, resource_options
from doorkeeper.cli.acl_texts import (
    binding_of_row,
    kafka_acls_command,
    names_words,
    our_command,
    resource_words,
    row,
)
from testkit.acl import PREFIXED, READ, allow, deny, group, topic

import click  # isort: skip


@click.command()
@resource_options
@entry_options()
@click.option("--bootstrap-server")
@click.option("--force", is_flag=True)
@click.option("--add", is_flag=True)
@click.option("--remove", is_flag=True)
@click.pass_context
def parsed(context: click.Context, /, **_options: object) -> list[AclBinding]:
    """Return the bindings that options mean, as the command add reads them."""
    return [each for of_one in additions(context.params).values() for each in of_one]


ODD = [
    allow("a", READ, topic("t")),
    deny("User:CN=a,O=b c", AclOperation.ALL, topic("a b'\"$(x)", PREFIXED), "10.0.0.1"),
    allow("Group:g", AclOperation.DESCRIBE_CONFIGS, group("*")),
    allow("--x", READ, topic("--force")),
]


@pytest.mark.parametrize("binding", ODD)
def test_a_row_can_be_given_back(binding: AclBinding) -> None:
    """Commas and quotes too."""
    assert binding_of_row(row(binding)) == binding


def test_a_row_moves_no_cursor() -> None:
    """What does not print is escaped."""
    assert row(allow("a", READ, topic("\x1b[2J"))) == "User:a,TOPIC,LITERAL,\\x1b[2J,READ,ALLOW,*"


def test_what_is_no_row_is_told() -> None:
    """Not one, or not of seven cells."""
    with pytest.raises(FormatError, match="found 3 cells"):
        binding_of_row("a,b,c")
    with pytest.raises(FormatError, match="found 0 rows"):
        binding_of_row("")


def _every_type() -> list[AclBinding]:
    return [
        allow("a", operation, ResourcePattern(kind, CLUSTER_NAME, how))
        for kind, operations in SUPPORTED_OPERATIONS.items()
        for operation in (AclOperation.ALL, *operations)
        for how in (PatternType.LITERAL, PatternType.PREFIXED)
        if kind is not ResourceType.CLUSTER or how is PatternType.LITERAL
    ]


def test_commands_mean_the_binding() -> None:
    """What the line says, read as a shell and then the tool read it, is the binding again."""
    bindings = [*ODD, *_every_type()]
    for binding in bindings:
        line = kafka_acls_command(binding, add=True)
        assert line is not None
        program, *words = shlex.split(line)
        assert (program, words[:3]) == (
            "kafka-acls.sh",
            ["--bootstrap-server", "HOST:PORT", "--add"],
        )
        assert parsed.main(words, standalone_mode=False) == [binding], line
    assert len(bindings) > 40


def test_removing_and_ours() -> None:
    """The source's words name the server, or the store."""
    binding = allow("a", READ, topic("*"), "10.0.0.1")

    assert kafka_acls_command(binding, add=False) == (
        "kafka-acls.sh --bootstrap-server HOST:PORT --remove --force --allow-principal User:a"
        " --allow-host 10.0.0.1 --operation Read --topic '*'"
    )
    assert our_command(binding, add=False, words=("--config", "a b")) == (
        "doorkeeper acls remove --force --config 'a b' --allow-principal User:a"
        " --allow-host 10.0.0.1 --operation Read --topic '*'"
    )


@pytest.mark.parametrize(
    "binding",
    [
        allow("a", AclOperation.CREATE_TOKENS, topic("t")),
        allow("a", READ, topic("t ")),
        allow("a ", READ, topic("t")),
        allow("a", READ, topic("t\n")),
    ],
)
def test_what_the_tool_cannot_say_has_no_command(binding: AclBinding) -> None:
    """An operation that the type does not know; blanks at an end, which the tool cuts off."""
    assert kafka_acls_command(binding, add=False) is None
    assert our_command(binding, add=False, words=()) is None


def test_words() -> None:
    """As people read them."""
    assert resource_words(ResourceType.CLUSTER, CLUSTER_NAME) == "the cluster"
    assert resource_words(ResourceType.USER, "User:a") == "user User:a"
    assert names_words(allow("a", READ, topic("t"))) == "topic t"
    assert names_words(allow("a", READ, topic("*"))) == "every topic"
    assert names_words(allow("a", READ, group("g", PREFIXED))) == "every group that begins with 'g'"
