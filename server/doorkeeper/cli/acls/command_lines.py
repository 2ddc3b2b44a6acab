"""The command lines of a change of ACLs: those of kafka-acls.sh, and ours.

Ours take the same options. A binding that no options name is changed by a plan with one item:

    printf %s '{"version": 1, ...}' | doorkeeper acls apply - ADDRESS --plan --yes
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Final

from doorkeeper.acls.formats.commands import KAFKA_ACLS, options_of
from doorkeeper.acls.formats.records import record_of_changes, records
from doorkeeper.acls.live_changes import LiveCluster, judge
from doorkeeper.acls.model import AclBinding
from doorkeeper.acls.plan import Plan
from doorkeeper.cli.acls.addresses import Location
from doorkeeper.cli.json_records.questions import AclCommands
from doorkeeper.cli.repositories.addresses import Address, AddressKind

ANYWHERE: Final = Location(Address(AddressKind.BROKERS, "HOST:PORT"))
"""The placeholder in commands for ACLs from a file, which can be applied to any cluster."""

_SERVER_OPTIONS: Final = {
    AddressKind.BROKERS: "--bootstrap-server",
    AddressKind.CONTROLLERS: "--bootstrap-controller",
}


def commands_of(
    added: Sequence[AclBinding], removed: Sequence[AclBinding], location: Location
) -> tuple[list[str], list[str]]:
    """Return the lines of kafka-acls.sh, and those of ours, that change ACLs at a location.

    They are in the order of ``live_changes``. For the past there are none: it cannot be changed,
    and the ACLs of now are others.
    """
    if location.is_past:
        return [], []
    if location.address.kind is AddressKind.FILE:
        location = ANYWHERE
    stages = judge(frozenset(removed), added, removed, LiveCluster()).stages
    steps = [(binding, stage.adds) for stage in stages for binding in stage.bindings]
    kafkas = [kafka_acls_command(binding, add=add, location=location) for binding, add in steps]
    ours = [our_command(binding, add=add, location=location) for binding, add in steps]
    return [line for line in kafkas if line], [line for line in ours if line]


def record_of_commands(
    added: Sequence[AclBinding], removed: Sequence[AclBinding], location: Location
) -> AclCommands:
    """Return a change of ACLs for JSON, with the lines of ``commands_of``."""
    kafkas, ours = commands_of(added, removed, location)
    return {
        "add": list(records(added)),
        "remove": list(records(removed)),
        "kafkaAcls": kafkas,
        "doorkeeper": ours,
    }


def kafka_acls_command(
    binding: AclBinding, *, add: bool, location: Location = ANYWHERE
) -> str | None:
    """Return the line that adds or removes a binding; None if the tool has no options for it.

    See ``options_of``; names with control characters have none either.
    """
    options = _options(binding)
    if options is None:
        return None
    # The tool knows no stores: the reader fills in the server's address.
    live = location if location.address.is_live else ANYWHERE
    server = [_SERVER_OPTIONS[live.address.kind], live.address.target, *live.words[1:]]
    action = ["--add"] if add else ["--remove", "--force"]
    return shlex.join([KAFKA_ACLS, *server, *action, *options])


def our_command(binding: AclBinding, *, add: bool, location: Location) -> str | None:
    """Return the line of ours that adds or removes a binding; None without a principal's type.

    A binding that no options name is the only item of a plan.
    """
    options = _options(binding)
    if options is None:
        is_typed = ":" in binding.entry.principal
        return _apply_command(binding, add=add, location=location) if is_typed else None
    action = ["add"] if add else ["remove", "--force"]
    return shlex.join(["doorkeeper", "acls", *action, *location.words, *options])


def _apply_command(binding: AclBinding, *, add: bool, location: Location) -> str:
    """Return the line that applies a plan with one item; JSON can hold any name."""
    nothing: tuple[AclBinding, ...] = ()
    one = (binding,)
    plan = Plan(one if add else nothing, nothing if add else one, unchanged=0, foreign=0)
    apply = ["doorkeeper", "acls", "apply", "-", *location.words, "--plan", "--yes"]
    return f"printf %s {shlex.quote(json.dumps(record_of_changes(plan)))} | {shlex.join(apply)}"


def _options(binding: AclBinding) -> list[str] | None:
    # A shell passes control characters on, but a terminal that shows the line does not.
    texts = (binding.pattern.name, *binding.entry[:2])
    return options_of(binding) if all(map(str.isprintable, texts)) else None
