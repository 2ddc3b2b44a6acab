"""The commands that make a change of ACLs."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import click
import pytest

from doorkeeper.acl.model import (
    CLUSTER_NAME,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acl.operations import SUPPORTED_OPERATIONS
from doorkeeper.acl.plan import Plan
from doorkeeper.cli.acls.addresses import Location
from doorkeeper.cli.acls.command_lines import (
    ANYWHERE,
    commands_of,
    kafka_acls_command,
    our_command,
)
from doorkeeper.cli.acls.options import additions, entry_options, resource_options
from doorkeeper.cli.acls.plans import SavedPlan, plan_of
from doorkeeper.repositories.addresses import parse_address
from testkit.acl import PREFIXED, READ, allow, cluster, deny, group, topic

ALTER = AclOperation.ALTER


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


def at(address: str) -> Location:
    return Location(parse_address(address))


ODD = [
    allow("a", READ, topic("t")),
    deny("User:CN=a,O=b c", AclOperation.ALL, topic("a b'\"$(x)", PREFIXED), "10.0.0.1"),
    allow("Group:g", AclOperation.DESCRIBE_CONFIGS, group("*")),
    allow("--x", READ, topic("--force")),
]


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
    assert our_command(binding, add=False, location=at("config:a b")) == (
        "doorkeeper acls remove --force 'config:a b' --allow-principal User:a"
        " --allow-host 10.0.0.1 --operation Read --topic '*'"
    )


UNSAID = [
    allow("a", AclOperation.CREATE_TOKENS, topic("t")),
    allow("a", READ, topic("t ")),
    allow("a ", READ, topic("t")),
    allow("a", READ, topic("t\n'")),
    allow("a", ALTER, cluster(CLUSTER_NAME, PREFIXED)),
    deny("a", ALTER, cluster("foo")),
]


@pytest.mark.parametrize("binding", UNSAID)
def test_what_the_tool_cannot_say_is_the_item_of_a_plan(binding: AclBinding) -> None:
    """The shell hands it to our own command as it is, and nothing else with it."""
    line = our_command(binding, add=False, location=at("h:1,i:2"))

    assert kafka_acls_command(binding, add=False) is None
    assert line is not None
    first, second = line.split(" | ")
    printed = subprocess.run(["/bin/sh", "-c", first], capture_output=True, text=True, check=True)
    assert plan_of(printed.stdout) == SavedPlan(Plan((), (binding,), 0, 0), None, None)
    assert second == "doorkeeper acls apply - kafka://h:1,i:2 --plan --yes"


@pytest.mark.parametrize(
    ("location", "words"),
    [
        (
            Location(parse_address("controllers://h:1"), Path("a b")),
            "controllers://h:1 --command-config 'a b'",
        ),
        (Location(parse_address("config:f")), "config:f"),
        (Location(parse_address("config:f"), None, ("a=b",)), "config:f --override a=b"),
        (ANYWHERE, "kafka://HOST:PORT"),
    ],
)
def test_a_plan_is_applied_at_the_location_of_the_acls(location: Location, words: str) -> None:
    """With its options; ACLs of a file can be applied anywhere."""
    line = our_command(UNSAID[0], add=True, location=location)

    assert line is not None
    assert line.endswith(f" | doorkeeper acls apply - {words} --plan --yes")


def test_a_principal_without_a_type_has_no_command() -> None:
    """No broker stores one, and no command of ours takes one."""
    binding = AclBinding(topic("t"), AccessControlEntry("a", "*", READ, AclPermissionType.ALLOW))

    assert commands_of((), (binding,), ANYWHERE) == ([], [])


def test_commands_go_to_the_source() -> None:
    """A server's address is taken over; kafka-acls.sh knows no store."""
    binding = allow("a", READ, topic("t"))

    kafkas, ours = commands_of((binding,), (), at("config:f"))
    assert kafkas[0].startswith("kafka-acls.sh --bootstrap-server HOST:PORT --add ")
    assert ours[0].startswith("doorkeeper acls add config:f ")
    kafkas, ours = commands_of((), (binding,), at("controllers://h:1"))
    assert kafkas[0].startswith("kafka-acls.sh --bootstrap-controller h:1 --remove --force ")
    assert ours[0].startswith("doorkeeper acls remove --force controllers://h:1 ")
    kafkas, ours = commands_of((binding,), (), at("acls.yaml"))
    assert kafkas[0].startswith("kafka-acls.sh --bootstrap-server HOST:PORT --add ")
    assert ours[0].startswith("doorkeeper acls add kafka://HOST:PORT ")
