"""From the options of kafka-acls.sh to ACLs and filters."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner

from doorkeeper.acls.model import (
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from doorkeeper.cli.acls.options import (
    FAILED,
    KafkaCommand,
    additions,
    check,
    entry_options,
    listing,
    principal_option,
    removals,
    resource_options,
)

A = "--allow-principal User:a"
ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY


@click.command(cls=KafkaCommand)
@resource_options("literal", "prefixed", "match", "any")
@entry_options()
@principal_option
def command(**options: Any) -> dict[str, Any]:
    """Give back what was chosen."""
    return options


def given(line: str) -> dict[str, Any]:
    """Return the values of a command line."""
    result = CliRunner().invoke(command, line.split(), standalone_mode=False)
    assert result.exception is None, result.output
    assert isinstance(result.return_value, dict)
    return result.return_value


def granted(line: str) -> set[str]:
    """Return what a command line adds, in short."""
    return {
        f"{pattern.resource_type.name} {pattern.name} {entry.operation.name}"
        for bindings in additions(given(line)).values()
        for pattern, entry in bindings
    }


def test_each_resource_type_has_its_option() -> None:
    line = (
        "--topic t --topic u --group g --transactional-id x --delegation-token d"
        " --user-principal User:o --cluster"
    )

    patterns = [(each.resource_type.name, each.name) for each in removals(given(line))]
    prefixed = removals(given(f"{line} --resource-pattern-type prefixed"))

    assert patterns == [
        ("TOPIC", "t"),
        ("TOPIC", "u"),
        ("GROUP", "g"),
        ("TRANSACTIONAL_ID", "x"),
        ("DELEGATION_TOKEN", "d"),
        ("USER", "User:o"),
        ("CLUSTER", "kafka-cluster"),
    ]
    assert {each.pattern_type for each in prefixed} == {PatternType.PREFIXED}
    assert ResourceType.CLUSTER not in {each.resource_type for each in prefixed}


def test_options_are_combined_to_entries() -> None:
    wanted = removals(
        given(
            f"--topic t {A} --allow-host 1.2.3.4 --allow-host ::1 --deny-principal User:b"
            " --operation AlterConfigs --operation READ"
        )
    )

    ops = (AclOperation.ALTER_CONFIGS, AclOperation.READ)
    assert list(wanted.values()) == [
        [
            *(
                AccessControlEntry("User:a", host, operation, ALLOW)
                for host in ("1.2.3.4", "::1")
                for operation in ops
            ),
            *(AccessControlEntry("User:b", "*", operation, DENY) for operation in ops),
        ]
    ]
    ((entry,),) = removals(given(f"--topic t {A}")).values()
    assert entry == AccessControlEntry("User:a", "*", AclOperation.ALL, ALLOW)


def test_convenience_options_expand_to_operations() -> None:
    topic = {f"TOPIC t {name}" for name in ("WRITE", "DESCRIBE", "CREATE")}
    transactional = {"TRANSACTIONAL_ID x WRITE", "TRANSACTIONAL_ID x DESCRIBE"}

    assert granted(f"{A} --producer --topic t") == topic
    assert granted(f"{A} --producer --topic t --transactional-id x") == topic | transactional
    assert granted(f"{A} --producer --idempotent --topic t") == (
        topic | {"CLUSTER kafka-cluster IDEMPOTENT_WRITE"}
    )
    assert granted(f"{A} --consumer --topic t --group g") == {
        "TOPIC t READ",
        "TOPIC t DESCRIBE",
        "GROUP g READ",
    }
    assert granted(f"{A} --producer --consumer --topic t --group g") == (
        topic | {"TOPIC t READ", "GROUP g READ"}
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (A, "You must provide at least one resource: --topic <topic> or --cluster or "),
        ("--topic t", "You must specify one of: --allow-principal, --deny-principal when trying"),
        (f"--cluster {A} --resource-pattern-type match", "value of 'MATCH' is not valid when"),
        ("--topic t --allow-principal a", f"{FAILED}expected a string in format principalType:"),
        (f"--group g {A} --operation Write", "ResourceType GROUP only supports operations [ALL, "),
        (f"--topic t {A} --operation Any", f"{FAILED}operation must not be ANY"),
        (
            f"--topic t {A} --resource-pattern-type unknown",
            f"{FAILED}Cannot parse argument 'unknown' of option resource-pattern-type",
        ),
    ],
)
def test_invalid_additions_are_rejected_with_kafkas_text(line: str, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        additions(given(line))

    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("action", "line", "said"),
    [
        ("list", A, 'Option "[list]" can\'t be used with option "[allow-principal]"'),
        (
            "add",
            "--producer --topic t --operation Read",
            'Option "[producer]" can\'t be used with option "[operation]"',
        ),
        ("add", "--principal U:a", "The --principal option is only available if --list is set"),
        ("add", "--producer --group g", "With --producer you must specify a --topic"),
        ("add", "--consumer --topic t", "With --consumer you must specify a --topic and a --group"),
        ("add", "--consumer --topic t --group g --cluster", "With --consumer you must specify"),
    ],
)
def test_conflicting_options_are_rejected_with_kafkas_text(
    action: str, line: str, said: str
) -> None:
    with pytest.raises(ValueError) as caught:
        check(action, given(line))

    assert said in str(caught.value)


def test_unknown_options_are_rejected_with_kafkas_text() -> None:
    """With status 1; a value that is missing alike, one that is too many as click does."""
    for line, said in (
        ("--nonsense", "doorkeeper: nonsense is not a recognized option\n"),
        ("--topic", "doorkeeper: Option topic requires an argument\n"),
    ):
        result = CliRunner().invoke(command, line.split())
        assert (result.exit_code, result.stdout, result.stderr) == (1, "", said)
    assert CliRunner().invoke(command, ["--cluster=x"]).exit_code == 2


def test_oversized_names_are_not_added() -> None:
    long = "y" * 32_768

    with pytest.raises(ValueError, match=r"command: Resource name takes 32768 bytes; at most"):
        additions(given(f"--topic t --topic {long} {A}"))
    with pytest.raises(ValueError, match=r"command: Principal takes 32773 bytes; at most 32767"):
        additions(given(f"--topic t --allow-principal User:{long}"))
    assert len(removals(given(f"--topic {long}"))) == 1
    assert len(listing(given(f"--topic {long}"))[0]) == 1
