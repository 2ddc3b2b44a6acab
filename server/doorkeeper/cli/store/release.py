"""``doorkeeper store release``: show or change the release of Kafka whose rules apply.

The server is not started: it refuses a store of another release than its configuration names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import click
from msgspec import Struct

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.effective_changes import DecisionState
from doorkeeper.cli.acls.effective import (
    EffectiveDifference,
    lines_of_difference,
    record_of_difference,
)
from doorkeeper.cli.acls.question_options import effective_policy
from doorkeeper.cli.interrupts import require_no_question, require_yes
from doorkeeper.cli.json_records.stores import StoreRelease
from doorkeeper.cli.options import CHANGE_STATUSES
from doorkeeper.cli.repositories.addresses import Address
from doorkeeper.cli.stores import settings_at, store_argument
from doorkeeper.cli.terminal import show, show_result
from doorkeeper.cli.vocabulary.commands import Command
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.options import named_option
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.config.store_keys import KAFKA_RELEASE
from doorkeeper.server.schema.change import Author, Change, Origin
from doorkeeper.server.schema.features import (
    LEVELS,
    has_networks,
    metadata_level,
    release_change,
    release_of,
)
from doorkeeper.server.state.state import State

ORIGIN: Final = Origin(Author("Server:doorkeeper", "", "", "doorkeeper store release"))
"""The origin in the log of changes: no client asked."""


@click.command(
    cls=Command,
    epilog=f"""
\b
From 4.4 on, the host of an ACL may be a network in CIDR notation (KIP-1276), such as 10.0.0.0/8:
the ACL holds for the addresses in it. With 4.3 a host is compared as text, so such an ACL matches
no client. The release is part of the store: all nodes follow the same one. ApiVersions shows it as
metadata.version: 30 for 4.3, 33 for 4.4. A new store follows doorkeeper.kafka.release, or 4.4; one
that is older than this key follows 4.3.

\b
The servers must be stopped. The decisions that would change are listed first, as by acls diff
--effective, and the command asks for confirmation.
{CHANGE_STATUSES}
\b
Examples:
  doorkeeper store release config:/etc/doorkeeper/server.properties
  doorkeeper store release config:/etc/doorkeeper/server.properties 4.4
  doorkeeper store release store:/var/lib/doorkeeper 4.4 --yes
""",
)
@store_argument()
@click.argument("release", type=click.Choice(list(LEVELS)), required=False)
@named_option("--yes", is_flag=True)
@json_output(StoreRelease)
def release(store: Address, release: str | None, output: str, *, yes: bool) -> None:
    """Show the release of Kafka whose rules the store follows, or change it to RELEASE."""
    settings = settings_at(store)
    require_no_question(output, asks=not yes and release is not None)

    # The embedded store is open meanwhile: no ACL comes between the list and the answer.
    def confirm(change: ReleaseChange) -> None:
        if output != "json":
            show(lines_of_difference(change.difference))
        if not yes:
            require_yes(f"Follow the rules of Kafka {change.after}?")

    changed = asyncio.run(change_release(settings, release, confirm))
    record: StoreRelease = {
        "before": changed.before,
        "after": changed.after,
        **record_of_difference(changed.difference),
    }
    before = "" if changed.before == changed.after else f"; previously {changed.before}"
    show_result(output, record, [f"the store follows Kafka {changed.after}{before}"])
    if settings[KAFKA_RELEASE] not in (None, changed.after):
        click.echo(
            f"{KAFKA_RELEASE} is {settings[KAFKA_RELEASE]} in the configuration; set it to"
            f" {changed.after} or remove it, or the server will not start",
            err=True,
        )


class ReleaseChange(Struct, frozen=True):
    """The releases before and after, and the decisions that differ: those of networks as hosts."""

    before: str
    after: str
    difference: EffectiveDifference


async def change_release(
    settings: Settings, release: str | None, confirm: Callable[[ReleaseChange], None]
) -> ReleaseChange:
    """Make the cluster of a store follow another release; return what was changed.

    ``confirm`` ends the process where the change is not wanted. Without a release, and where the
    store follows it already, nothing is asked or changed.

    Raises:
        StorageError: there is no store, a server uses it, or it cannot be written.
        StartError: the audit log cannot be written.
    """
    # Imported here: the other commands of stores start no part of a server.
    from doorkeeper.cli.repositories.stores import policy_of
    from doorkeeper.cli.single_user import commit, open_log
    from doorkeeper.server.app.config_changes import dynamic_values
    from doorkeeper.server.config.loading import with_stored_values

    async with open_log(settings) as assembly:
        await assembly.log.start()
        state = assembly.log.state
        stored, _ = with_stored_values(settings, dynamic_values(state.configs, settings.node_id))
        change = effect_of(state, release or release_of(state.features), policy_of(stored))
        if change.before == change.after:
            return change
        confirm(change)

        def plan(newest: State) -> tuple[Change, None]:
            is_same = metadata_level(newest.features) == LEVELS[change.after]
            return {} if is_same else release_change(change.after), None

        await commit(assembly, plan, ORIGIN)
        return change


def effect_of(state: State, release: str, policy: Policy) -> ReleaseChange:
    """Return the changes by following a release."""
    before = release_of(state.features)
    now, then = (
        DecisionState(
            policy, state.acls.with_network_matching(enabled=has_networks(LEVELS[followed]))
        )
        for followed in (before, release)
    )
    named = effective_policy(policy, (), allow_everyone=None)
    return ReleaseChange(before, release, EffectiveDifference(now, then, (named, named)))
