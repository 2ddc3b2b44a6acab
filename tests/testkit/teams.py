"""A story of three teams that share a cluster, for servers of any kind: ``examples/teams``."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from testkit.checkout import ROOT
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

TEAMS = ROOT / "examples" / "teams"
TOPICS = ROOT / "examples" / "teams-topics" / "payments.yaml"
PASSWORD = "admin-secret"
USERS_PASSWORD = "pay-app-secret"
SECRETS = {"KAFKA_PASSWORD": PASSWORD, "PAY_APP_PASSWORD": USERS_PASSWORD}
"""Variables of the environment of commands."""
LOGINS = {
    "sasl_enabled_mechanisms": "PLAIN,SCRAM-SHA-512",
    "listener_name_sasl_scram-sha-512_sasl_jaas_config":
        "org.apache.kafka.common.security.scram.ScramLoginModule required;",
}  # fmt: skip
"""The keys of a server that users of SCRAM can log in to."""
SETTLE_S = 20.0
"""A broker shows a change a little after it has acknowledged it."""

PROPERTIES = """\
security.protocol=SASL_PLAINTEXT
sasl.mechanism=PLAIN
config.providers=env
config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\
    username="admin" password="${env:KAFKA_PASSWORD}";
"""

FLAGS = {
    "producer, topic: t": "--producer --topic t",
    "idempotent-producer, topic: t": "--producer --idempotent --topic t",
    "transactional-producer, topic: t, transactionalId: x":
        "--producer --topic t --transactional-id x",
    "consumer, topic: t, group: g": "--consumer --topic t --group g",
    "consumer, topic: t, group: g, patternType: PREFIXED":
        "--consumer --topic t --group g --resource-pattern-type prefixed",
}  # fmt: skip
"""Grants, and the convenience flags of kafka-acls.sh that give the same."""

DRIFT_ADD = "--add --allow-principal User:mallory --operation Read --topic pay-orders"
DRIFT_REMOVE = (
    "--remove --force --allow-principal User:ship-printer --operation Read --group ship-printers"
)
ADDED = "User:mallory,TOPIC,LITERAL,pay-orders,READ,ALLOW,*"
REMOVED = "User:ship-printer,GROUP,LITERAL,ship-printers,READ,ALLOW,*"


class Done(NamedTuple):
    """The exit status of a command, and all that it wrote."""

    status: int
    stdout: str
    stderr: str


class Desk:
    """A folder with the login of an administrator, and the address of a server.

    ``kafka_acls`` runs the words of kafka-acls.sh at that server.
    """

    def __init__(
        self, folder: Path, server: str, kafka_acls: Callable[[str], None] = lambda _words: None
    ) -> None:
        self.folder = folder
        self.kafka_acls = kafka_acls
        self.written: list[str] = []
        self._server = server
        (folder / "admin.properties").write_text(PROPERTIES, encoding="utf-8")

    def acls(self, command: str, *words: object, config: Path | None = None) -> Done:
        """Run ``doorkeeper acls`` with files before the address of the server, options after it.

        ``config`` has the login of another user than the administrator.
        """
        login = str(config or self.folder / "admin.properties")
        target = (f"kafka://{self._server}", "--command-config", login)
        files = [str(each) for each in words if not str(each).startswith("--")]
        options = [str(each) for each in words if str(each).startswith("--")]
        done = self.run([command, *files, *target, *options])
        self.written += [done.stdout, done.stderr]
        return done

    def run(self, words: list[str]) -> Done:
        """Run ``doorkeeper acls`` in a process of its own."""
        done = subprocess.run(
            [sys.executable, "-m", "doorkeeper", "acls", *words],
            env=os.environ | SECRETS,
            capture_output=True,
            text=True,
            timeout=scaled(100),
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def changes(self, *words: object, until: Sequence[str]) -> list[str]:
        """Return the changes of a plan, when the server shows those that are expected."""
        deadline = time.monotonic() + scaled(SETTLE_S)
        while True:
            done = self.acls("plan", *words)
            *found, _ = done.stdout.splitlines()
            assert done.status == (3 if found else 0), done
            if found == until or time.monotonic() > deadline:
                return found
            time.sleep(0.1)


def check_teams(desk: Desk) -> None:
    """Tell the story."""
    _check_each_team_alone(desk)
    _check_ownership(desk)
    _check_drift(desk)
    _check_roles(desk)
    written = "".join(desk.written)
    assert "User:mallory" in written
    assert PASSWORD not in written
    assert USERS_PASSWORD not in written


def _check_each_team_alone(desk: Desk) -> None:
    for file in sorted(TEAMS.glob("*.yaml")):
        done = desk.acls("apply", file, "--yes")
        assert (done.status, done.stderr.count("\n")) == (0, 1), done
    assert desk.changes(TEAMS, until=[]) == []


def _check_ownership(desk: Desk) -> None:
    overlapping, foreign = desk.folder / "overlapping.yaml", desk.folder / "foreign.yaml"
    overlapping.write_text("version: 1\nowns: {prefixes: [pay-orders]}\nacls: []\n")
    refused = desk.acls("apply", TEAMS, overlapping, "--yes")
    assert refused.status == 1
    assert f"{TEAMS / 'payments.yaml'} line 3 and {overlapping} line 2 both own" in refused.stderr

    # A file with none of the ACLs of the others removes none of them.
    foreign.write_text("version: 1\nowns: {prefixes: [stock-]}\nacls: []\n")
    assert desk.acls("apply", foreign, "--yes").status == 0
    foreign.write_text("version: 1\nacls: []\n")
    assert desk.acls("apply", foreign, "--yes").status == 0
    assert desk.changes(TEAMS, until=[]) == []


def _check_drift(desk: Desk) -> None:
    desk.kafka_acls(DRIFT_ADD)
    desk.kafka_acls(DRIFT_REMOVE)
    both = [f"+ {REMOVED}", f"- {ADDED}"]
    assert desk.changes(TEAMS, until=both) == both
    # Each team sees, and repairs, the drift of its own ACLs alone.
    assert desk.changes(TEAMS / "shipping.yaml", until=both[:1]) == both[:1]
    assert desk.changes(TEAMS / "payments.yaml", until=both[1:]) == both[1:]
    assert desk.changes(TEAMS / "platform.yaml", until=[]) == []

    repaired = desk.acls("apply", TEAMS / "shipping.yaml", "--yes")
    assert repaired.stderr.endswith("1 added, 0 removed\n")
    assert desk.changes(TEAMS, until=both[1:]) == both[1:]
    repaired = desk.acls("apply", TEAMS, "--yes")
    assert repaired.stderr.endswith("0 added, 1 removed\n")
    assert desk.changes(TEAMS, until=[]) == []


def _check_roles(desk: Desk) -> None:
    file = desk.folder / "role.yaml"
    for number, (grant, flags) in enumerate(FLAGS.items()):
        user = f"User:role-{number}"
        file.write_text(f'version: 1\ngrants: [{{role: {grant}, principal: "{user}"}}]\n')
        desk.kafka_acls(f"--add --allow-principal {user} {flags}")
        # What the principal has beside the grant would be removed.
        assert desk.changes(file, f"--own-principal={user}", until=[]) == [], grant


def check_topics_users_quotas(desk: Desk) -> None:
    """Create and change them, refuse what cannot be, and delete only as far as is asked for."""
    done = desk.acls("apply", TEAMS / "payments.yaml", TOPICS, "--yes")
    assert (done.status, done.stdout.count("\n")) == (0, 11), done
    text = TOPICS.read_text("utf-8")
    file = desk.folder / "payments.yaml"

    def write(**changes: tuple[str, str]) -> None:
        changed = text
        for before, after in changes.values():
            assert before in changed
            changed = changed.replace(before, after)
        file.write_text(changed, encoding="utf-8")

    _check_login(desk, USERS_PASSWORD, accepted=True)
    write(
        a=("partitions: 3", "partitions: 6"),
        b=("{retention.ms: 604800000}", "{retention.ms: 1000, cleanup.policy: delete}"),
        c=("iterations: 8192", "iterations: 4096"),
        d=("producer_byte_rate: 10485760", "consumer_byte_rate: 2048"),
    )
    topic = "6 partitions (now 3), cleanup.policy=delete, retention.ms=1000 (now 604800000)"
    user = "SCRAM-SHA-512, 4096 iterations (now 8192), password of ${env:PAY_APP_PASSWORD}"
    found = [
        f"~ topic pay-orders: {topic}",
        f"~ user pay-app: {user}",
        "+ quota of user pay-app: consumer_byte_rate=2048",
        "- quota of user pay-app: producer_byte_rate=10485760",
    ]
    assert desk.changes(file, until=found) == found
    saved = desk.folder / "pay.plan"
    assert desk.acls("plan", file, f"--out={saved}", "--output=markdown").status == 3
    assert USERS_PASSWORD not in saved.read_text("utf-8")
    done = desk.acls("apply", saved, "--plan", "--yes")
    assert done.status == 0, done
    assert "; 4 topics, users and quotas created, changed or removed" in done.stderr
    assert desk.changes(file, until=[]) == []
    # A setting that a file leaves out is as by default again.
    write(
        a=("partitions: 3", "partitions: 6"),
        b=("configs: {retention.ms: 604800000}", "configs: {}"),
    )
    assert desk.acls("apply", file, "--yes").status == 0
    assert desk.changes(file, until=[]) == []

    write()
    refused = desk.acls("apply", file, "--yes")
    assert (refused.status, refused.stdout) == (1, "")
    assert "topic pay-orders: has 6 partitions, 3 are desired" in refused.stderr
    write(a=("partitions: 3", "partitions: 6"), b=("replicationFactor: 1", "replicationFactor: 3"))
    refused = desk.acls("plan", file)
    assert refused.status == 1
    assert "has replication factor 1, 3 is desired" in refused.stderr

    _check_removals(desk, file, text)
    assert USERS_PASSWORD not in "".join(desk.written)


def _check_removals(desk: Desk, file: Path, text: str) -> None:
    file.write_text(text[: text.index("topics:\n")] + "topics: []\n", encoding="utf-8")
    quota, user = (
        "- quota of user pay-app: producer_byte_rate=10485760",
        "- user pay-app: SCRAM-SHA-512",
    )
    done = desk.acls("plan", file, "--fail-on=removal")
    assert done.status == 1
    assert "note: topic pay-orders is owned but not in WANTED; it is kept" in done.stderr
    assert desk.changes(file, until=[user, quota]) == [user, quota]
    assert desk.acls("apply", file, "--yes").status == 0
    assert desk.changes(file, until=[]) == []
    _check_login(desk, USERS_PASSWORD, accepted=False)
    topic = ["- topic pay-orders: 6 partitions with all their records"]
    assert desk.changes(file, "--delete-topics", until=topic) == topic
    assert desk.acls("apply", file, "--yes", "--delete-topics").status == 0
    assert desk.changes(file, "--delete-topics", until=[]) == []


def _check_login(desk: Desk, password: str, *, accepted: bool) -> None:
    """Check whether pay-app can log in; it may not list ACLs in any case."""
    file = desk.folder / "pay-app.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n"
        "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required"
        f' username="pay-app" password="{password}";\n',
        encoding="utf-8",
    )
    deadline = time.monotonic() + scaled(SETTLE_S)
    while True:
        done = desk.acls("list", config=file)
        found = "requires Describe on the cluster" in done.stderr
        if found == accepted or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    assert found == accepted, done
