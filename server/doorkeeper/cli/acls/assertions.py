"""``doorkeeper acls assert``: checks rules about ACLs; a broken one has counterexamples."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from doorkeeper.acls.bulk import snapshot_of
from doorkeeper.acls.effective_changes import DecisionState
from doorkeeper.base.properties import PropertiesFile
from doorkeeper.cli.acls.addresses import Location, read_contents
from doorkeeper.cli.acls.questions import (
    POLICY_HELP,
    AclState,
    state_options,
    take_state,
)
from doorkeeper.cli.acls.rules import read_rules
from doorkeeper.cli.addresses import ADDRESS
from doorkeeper.cli.json_records.questions import CheckedRules
from doorkeeper.cli.options import PATH
from doorkeeper.cli.repositories.addresses import Address
from doorkeeper.cli.terminal import show, show_json
from doorkeeper.cli.vocabulary.commands import Command
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.options import named_option

BROKEN: Final = 3
"""The status of a rule that does not hold."""


@click.command(
    cls=Command,
    name="assert",
    epilog=f"""
The kinds of rules are 'never', 'always', 'only' and 'no more than before'; the last compares with
the ACLs of --before.
{POLICY_HELP}
\b
Exit statuses: 0 all rules hold; 1 failed, or there are no ACLs, with the reason on stderr;
2 wrong usage; 3 a rule is broken; 130 ended by Ctrl-C.

\b
Examples:
  doorkeeper acls assert rules.yaml teams/
  doorkeeper acls assert rules.yaml kafka://localhost:9092 --super-user User:admin
  doorkeeper acls assert rules.yaml after.yaml --before before.yaml --output markdown
""",
)
@click.argument("rules", metavar="RULES", type=PATH)
@named_option("--before", type=ADDRESS)
@state_options
@json_output(CheckedRules, others=("markdown",))
def assert_(rules: Path, before: Address | None, output: str, **options: Any) -> None:
    """Check the rules of a file; for a broken rule, show a counterexample and the deciding ACL."""
    asserted = read_rules(rules)
    command_config = options["command_config"]
    state = take_state(options)
    past = None if before is None else _state_of(before, command_config, state)
    if past is None:
        asserted.need_past("--before ADDRESS")
    checks = asserted.check(state.decisions, past)
    if output == "json":
        report: CheckedRules = {"rules": checks.record(), **state.record()}
        show_json(report)
    elif output == "markdown":
        show(checks.markdown())
    else:
        show([*checks.lines(), checks.summary(), *state.lines()])
    if checks.broken:
        raise SystemExit(BROKEN)
    state.examined.fail_if_nothing()


def _state_of(
    before: Address, command_config: PropertiesFile | None, state: AclState
) -> DecisionState:
    """Return the state of before, with the present values of settings that it lacks."""
    # Before is a file mostly, beside a live cluster that has the properties.
    config = command_config if before.is_live else None
    contents = read_contents(Location(before, config))
    networks = contents.networks
    if networks is None:
        networks = state.snapshot.matches_networks
    snapshot = snapshot_of(contents.bindings, networks=networks)
    return DecisionState(contents.policy or state.policy.policy, snapshot)
