"""``examples/teams`` on a broker and on Doorkeeper, with drift that kafka-acls.sh makes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from testkit.kafka_target import Target, doorkeeper_target, kafka_target
from testkit.kafka_tools import KafkaTools
from testkit.or_skip import or_skip
from testkit.teams import LOGINS, Desk, check_teams, check_topics_users_quotas


# tests/e2e/test_teams.py has the same on Doorkeeper, with a stand-in for the tool.
@pytest.mark.parametrize(
    "make", [kafka_target, pytest.param(doorkeeper_target, marks=pytest.mark.slow)]
)
def test_three_teams(make: Callable[..., Target], tools: KafkaTools, tmp_path: Path) -> None:
    """Overlaps are refused, removals need the owner, drift is repaired, roles are as the flags."""

    def kafka_acls(words: str) -> None:
        done = tools.run("kafka-acls", "--bootstrap-server", target.plain, *words.split())
        assert done.status == 0, done

    target = or_skip(lambda: make(**LOGINS))
    try:
        check_teams(Desk(tmp_path, target.sasl, kafka_acls))
    finally:
        target.close()


def test_topics_users_and_quotas(tmp_path: Path) -> None:
    """They are planned, changed and removed beside ACLs, and no password is printed."""
    target = or_skip(lambda: kafka_target(**LOGINS))
    try:
        check_topics_users_quotas(Desk(tmp_path, target.sasl))
    finally:
        target.close()
