"""``examples/teams`` on Doorkeeper; ``doorkeeper acls`` takes the place of kafka-acls.sh."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from testkit.kafka_target import doorkeeper_target
from testkit.teams import LOGINS, SECRETS, Desk, Done, check_teams, check_topics_users_quotas

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class QuickDesk(Desk):
    """Runs the commands in this process."""

    def run(self, words: list[str]) -> Done:
        found = CliRunner().invoke(doorkeeper, ["acls", *words], env=SECRETS)
        return Done(found.exit_code, found.stdout, found.stderr)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[QuickDesk]:
    def change(line: str) -> None:
        command, *words = line.removeprefix("--").split()
        done = found.run([command, *words, "--bootstrap-server", target.plain])
        assert done.status == 0, done

    target = doorkeeper_target(**LOGINS)
    found = QuickDesk(tmp_path, target.sasl, change)
    yield found
    target.close()


def test_three_teams(desk: QuickDesk) -> None:
    """Overlaps are refused, removals need the owner, drift is repaired, roles are as the flags."""
    check_teams(desk)


def test_topics_users_and_quotas(desk: QuickDesk) -> None:
    """They are planned, changed and removed with the ACLs, and no password is printed."""
    check_topics_users_quotas(desk)
