"""``examples/teams`` on Doorkeeper; ``doorkeeper acls`` takes the place of kafka-acls.sh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from testkit.acls_command import acls
from testkit.kafka_target import doorkeeper_target
from testkit.teams import (
    LOGINS,
    SECRETS,
    Desk,
    Done,
    check_teams,
    check_topics_users_quotas,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_three_teams(tmp_path: Path) -> None:
    """Overlaps are refused, removals need the owner, drift is repaired, roles are as the flags."""

    def change(words: str) -> None:
        command, *rest = words.removeprefix("--").split()
        done = acls(tmp_path, command, *rest, "--bootstrap-server", target.plain)
        assert done[0] == 0, done

    target = doorkeeper_target(**LOGINS)
    try:
        check_teams(Desk(tmp_path, target.sasl, change))
    finally:
        target.close()


class QuickDesk(Desk):
    """Runs the commands in this process."""

    def run(self, words: list[str]) -> Done:
        found = CliRunner().invoke(doorkeeper, ["acls", *words], env=SECRETS)
        return Done(found.exit_code, found.stdout, found.stderr)


def test_topics_users_and_quotas(tmp_path: Path) -> None:
    """They are planned, changed and removed beside ACLs, and no password is printed."""
    target = doorkeeper_target(**LOGINS)
    try:
        check_topics_users_quotas(QuickDesk(tmp_path, target.sasl))
    finally:
        target.close()
