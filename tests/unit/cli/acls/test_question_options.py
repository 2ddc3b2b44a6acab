"""The options of questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner

from doorkeeper.cli.acls.question_options import (
    host_option,
    operation_option,
    principal_option,
    resource_option,
    take_resource,
)

if TYPE_CHECKING:
    from doorkeeper.acls.model import AclOperation


@click.command()
@principal_option
@operation_option
@host_option
@resource_option
def ask(principal: str, operation: AclOperation, host: str, **options: Any) -> None:
    """Print what the options mean."""
    kind, name = take_resource(options, operation)
    click.echo(f"{principal} {operation.name} {host} {kind.name} {name}")


def asked(line: str) -> tuple[int, str]:
    result = CliRunner().invoke(ask, line.split())
    return result.exit_code, result.stdout or result.stderr


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ("--operation DESCRIBE_CONFIGS --group g", "DESCRIBE_CONFIGS * GROUP g"),
        ("--operation clusterAction --cluster", "CLUSTER_ACTION * CLUSTER kafka-cluster"),
        ("--operation CreateTokens --user-principal User:u", "CREATE_TOKENS * USER User:u"),
        ("--operation Read --topic t --host ::1", "READ 0:0:0:0:0:0:0:1 TOPIC t"),
    ],
)
def test_operations_and_hosts_are_parsed(line: str, meaning: str) -> None:
    """Operations in any case; addresses as Kafka compares them."""
    assert asked(f"--principal User:a:b {line}") == (0, f"User:a:b {meaning}\n")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("--principal a --operation Read --topic t", "principalType:principalName"),
        ("--principal User:a --operation Fly --topic t", "operation: found 'Fly'"),
        (
            "--principal User:a --operation All --topic t",
            "found All; expected one operation, since",
        ),
        ("--principal User:a --operation Read", "found 0"),
        ("--principal User:a --operation Read --topic t --cluster", "found 2"),
        (
            "--principal User:a --operation Read --cluster",
            "found Read; allowed for CLUSTER",
        ),
        ("--principal User:a --operation Read --topic t --host x", "an address, a network, or *"),
        ("--operation Read --topic t", "Missing option '--principal'"),
    ],
)
def test_wrong_usage_exits_with_2(line: str, text: str) -> None:
    """The status is 2."""
    status, said = asked(line)

    assert status == 2
    assert text in " ".join(said.split())


def test_empty_name_is_wrong_usage() -> None:
    words = ["--principal", "User:a", "--operation", "Read", "--topic", ""]

    result = CliRunner().invoke(ask, words)

    assert result.exit_code == 2
    assert "--topic is empty; expected: the name of a resource" in result.stderr
