"""From the options of kafka-acls.sh to ACLs and filters."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner

from doorkeeper.acl.model import (
    ANY_BINDING,
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)
from doorkeeper.cli.acl_options import Chosen, chosen, entry_options, resource_options

A = "--allow-principal User:a"
ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
LITERAL = PatternType.LITERAL


def selection(line: str) -> Chosen:
    """Return what a command line means."""

    @click.command()
    @resource_options
    @entry_options
    def command(**options: Any) -> Chosen:
        return chosen(options)

    result = CliRunner().invoke(command, line.split(), standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    assert isinstance(result.return_value, Chosen)
    return result.return_value


def test_every_resource_has_its_option() -> None:
    """In the order of the types; the cluster has one name, whatever the pattern type."""
    line = (
        "--topic t --topic u --group g --transactional-id x --delegation-token d"
        " --user-principal User:o --cluster --resource-pattern-type prefixed"
    )

    patterns = [(kind.name, name, how.name) for kind, name, how in selection(line).patterns]

    assert patterns == [
        ("TOPIC", "t", "PREFIXED"),
        ("TOPIC", "u", "PREFIXED"),
        ("GROUP", "g", "PREFIXED"),
        ("TRANSACTIONAL_ID", "x", "PREFIXED"),
        ("DELEGATION_TOKEN", "d", "PREFIXED"),
        ("USER", "User:o", "PREFIXED"),
        ("CLUSTER", "kafka-cluster", "LITERAL"),
    ]


def test_every_combination_is_an_entry() -> None:
    """Principals by hosts by operations; everywhere and All where nothing is said."""
    wanted = selection(
        f"--topic t {A} --allow-host 1.2.3.4 --allow-host ::1 --deny-principal User:b"
        " --operation AlterConfigs --operation READ"
    )

    ops = (AclOperation.ALTER_CONFIGS, AclOperation.READ)
    assert list(wanted.entries) == [
        *(AccessControlEntry("User:a", host, o, ALLOW) for host in ("1.2.3.4", "::1") for o in ops),
        *(AccessControlEntry("User:b", "*", operation, DENY) for operation in ops),
    ]
    (entry,) = selection(f"--topic t {A}").entries
    assert entry == AccessControlEntry("User:a", "*", AclOperation.ALL, ALLOW)


def test_what_to_add_list_and_remove() -> None:
    """ACLs by resource; filters, of everything where nothing is named."""
    wanted = selection(f"--topic t {A}")
    topic = ResourcePattern(ResourceType.TOPIC, "t", LITERAL)

    assert {pattern: len(each) for pattern, each in wanted.bindings().items()} == {topic: 1}
    (filters,) = wanted.removals().values()
    assert [each.entry.principal for each in filters] == ["User:a"]
    ((everything,),) = selection("--topic t").removals().values()
    assert everything.entry == ANY_BINDING.entry
    assert selection("").filters() == [ANY_BINDING]
    assert selection("--topic t --resource-pattern-type MATCH").filters()[0].pattern == (
        ResourcePatternFilter(ResourceType.TOPIC, "t", PatternType.MATCH)
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (A, "You must provide at least one resource: --topic <topic> or --cluster or "),
        ("--topic t", "You must specify one of: --allow-principal, --deny-principal when trying"),
        ("--topic t --allow-host x", "You must specify one of: --allow-principal, "),
        (
            f"--topic t {A} --resource-pattern-type any",
            "A '--resource-pattern-type' value of 'ANY'",
        ),
        (f"--cluster {A} --resource-pattern-type match", "value of 'MATCH' is not valid when"),
        ("--topic t --allow-principal a", "expected a string in format principalType:"),
        (f"--group g {A} --operation Write", "ResourceType GROUP only supports operations [ALL, "),
        (f"--topic t {A} --operation Nonsense", "ResourceType TOPIC only supports operations ["),
        (f"--topic t {A} --operation Any", "ResourceType TOPIC only supports operations ["),
    ],
)
def test_what_cannot_be_added(line: str, said: str) -> None:
    """The tool's own texts."""
    with pytest.raises(ValueError) as caught:
        selection(line).bindings()

    assert said in str(caught.value)


def test_removing_needs_a_resource() -> None:
    """Nobody removes everything by leaving out a word."""
    with pytest.raises(ValueError, match=r"^You must provide at least one resource: "):
        selection("").removals()
