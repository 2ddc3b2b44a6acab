"""The commands that make a change of ACLs."""

from __future__ import annotations

import shlex
import subprocess

import click

from doorkeeper.acls.model import (
    CLUSTER_NAME,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acls.operations import SUPPORTED_OPERATIONS
from doorkeeper.acls.plan import Plan
from doorkeeper.cli.acls.addresses import Location
from doorkeeper.cli.acls.command_lines import (
    ANYWHERE,
    commands_of,
    kafka_acls_command,
    our_command,
)
from doorkeeper.cli.acls.options import additions, entry_options, resource_options
from doorkeeper.cli.acls.plan_files import SavedPlan, plan_of
from doorkeeper.cli.repositories.addresses import parse_address
from testkit.acl import PREFIXED, READ, allow, cluster, deny, group, topic

ALTER = AclOperation.ALTER


@click.command()
@resource_options("literal", "prefixed", "match", "any")
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


def test_commands_reproduce_the_binding() -> None:
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


UNSAID = [
    allow("a", AclOperation.CREATE_TOKENS, topic("t")),
    allow("a", READ, topic("t ")),
    allow("a ", READ, topic("t")),
    allow("a", READ, topic("t\n'")),
    allow("a", ALTER, cluster(CLUSTER_NAME, PREFIXED)),
    deny("a", ALTER, cluster("foo")),
]


def test_bindings_without_options_are_piped_as_plan() -> None:
    lines = [our_command(each, add=False, location=at("h:1,i:2")) for each in UNSAID]

    assert {kafka_acls_command(each, add=False) for each in UNSAID} == {None}
    pipes = [str(line).split(" | ") for line in lines]
    assert {second for _, second in pipes} == {
        "doorkeeper acls apply - kafka://h:1,i:2 --plan --yes"
    }
    script = "; echo; ".join(first for first, _ in pipes)
    printed = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True)
    assert [plan_of(each) for each in printed.stdout.splitlines()] == [
        SavedPlan(Plan((), (binding,), 0, 0), None, None) for binding in UNSAID
    ]


def test_principal_without_type_has_no_command() -> None:
    binding = AclBinding(topic("t"), AccessControlEntry("a", "*", READ, AclPermissionType.ALLOW))

    assert commands_of((), (binding,), ANYWHERE) == ([], [])


def test_commands_use_the_source_address() -> None:
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
