"""``doorkeeper store release``: show or change the release of Kafka whose rules apply."""

from __future__ import annotations

from pathlib import Path

import click

from doorkeeper.acls.model import AclBinding, AclPermissionType
from doorkeeper.cli import interrupts
from doorkeeper.cli.acls.printing import row
from doorkeeper.cli.offline.release import ReleaseChange, change_release
from doorkeeper.cli.options import config_option, load_settings
from doorkeeper.cli.terminal import printable, show
from doorkeeper.server.config.store_keys import KAFKA_RELEASE
from doorkeeper.server.schema.features import LEVELS


@click.command(
    epilog="""
\b
From 4.4 on, the host of an ACL may be a network in CIDR notation (KIP-1276), such as 10.0.0.0/8:
the ACL holds for the addresses in it. With 4.3 a host is compared as text, so such an ACL matches
no client. The release is part of the store: all nodes follow the same one. ApiVersions shows it as
metadata.version: 30 for 4.3, 33 for 4.4. A new store follows doorkeeper.kafka.release, or 4.4; one
that is older than this key follows 4.3.

\b
The servers must be stopped. Before the change, the ACLs whose hosts are networks are listed, with
the principals that gain or lose permissions, and the command asks. "changes nothing" is an ACL for
a super user, one beside others that say the same, or a DENY of what is not allowed.

\b
Exit statuses: 0 done, or nothing to do; 1 failed, or the answer was no, with the reason on
stderr; 2 wrong usage.

\b
Examples:
  doorkeeper store release --config /etc/doorkeeper/server.properties
  doorkeeper store release 4.4 --config /etc/doorkeeper/server.properties
  doorkeeper store release 4.4 --data-dir /var/lib/doorkeeper --yes
"""
)
@click.argument("release", type=click.Choice(list(LEVELS)), required=False)
@config_option
@click.option(
    "--data-dir",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="The data folder of an embedded store."
    "  [default: doorkeeper.data.dir of --config, or ./data]",
)
@click.option("--yes", is_flag=True, help="Do not ask before the change.")
def release(
    release: str | None,
    file: Path | None,
    data_dir: Path | None,
    *,
    yes: bool,
) -> None:
    """Show the release of Kafka whose rules the store follows, or change it to RELEASE."""
    places = () if data_dir is None else (f"doorkeeper.data.dir={data_dir}",)
    settings = load_settings(file if data_dir is None else None, places)

    # The embedded store is open meanwhile: no ACL comes between the list and the answer.
    def confirm(change: ReleaseChange) -> bool:
        show(lines_of(change))
        return yes or interrupts.confirm(f"Follow the rules of Kafka {change.after}?")

    changed = change_release(settings, release, confirm)
    if changed is None:
        interrupts.fail_without_yes()
    if changed.before == changed.after:
        click.echo(f"the rules of Kafka {changed.after}")
    else:
        click.echo(f"the rules of Kafka {changed.after}; before: {changed.before}")
    if settings[KAFKA_RELEASE] not in (None, changed.after):
        click.echo(
            f"{KAFKA_RELEASE} is {settings[KAFKA_RELEASE]} in the configuration: the server"
            f" starts when it is {changed.after}, or not set",
            err=True,
        )


def lines_of(change: ReleaseChange) -> list[str]:
    """Return the effects of the change, a line for each ACL."""
    if not change.networks and not change.unreadable:
        return ["no ACL has a network for a host: no decision changes"]
    lines = []
    if change.networks:
        begin = "begin" if change.begins else "cease"
        lines.append(
            f"{len(change.networks)} ACLs {begin} to match the addresses in their network:"
        )
        lines += [f"  {_effect(each, change)}  {row(each)}" for each in change.networks]
    if change.unreadable:
        lines.append(f"{len(change.unreadable)} ACLs have a host with a slash that is no network:")
        lines += [f"  matches nothing  {row(each)}" for each in change.unreadable]
    return lines


def _effect(binding: AclBinding, change: ReleaseChange) -> str:
    if binding in change.needless:
        return "changes nothing"
    # A DENY that begins to match takes permissions away.
    allows = binding.entry.permission_type is AclPermissionType.ALLOW
    gains = allows is change.begins
    return f"{printable(binding.entry.principal)} {'gains' if gains else 'loses'}"
