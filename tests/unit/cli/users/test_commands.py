"""``doorkeeper users`` on a store; over the wire it is tried in ``tests/e2e/test_users.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from doorkeeper.server.schema.declared import CREDENTIAL
from testkit.stores import open_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

    Run = Callable[..., Result]

BOTH = "alice  SCRAM-SHA-256  4096 iterations\nalice  SCRAM-SHA-512  4096 iterations\n"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a command line on a store in a folder, with a password on standard input."""
    folder = [
        *("--override", "listeners=SASL_PLAINTEXT://localhost:9092"),
        *("--override", "sasl.enabled.mechanisms=SCRAM-SHA-256,SCRAM-SHA-512"),
    ]

    def invoke(line: str, password: str = "alice-secret\n", after: str = "") -> Result:
        verb, *rest = line.split()
        words = ["users", verb, f"store:{tmp_path / 'data'}", *rest, *folder, *after.split()]
        return CliRunner().invoke(doorkeeper, words, input=password)

    return invoke


def test_first_administrator_is_added_before_the_first_start(run: Run, tmp_path: Path) -> None:
    added = run("add alice")

    assert (added.exit_code, added.stderr) == (0, "")
    assert added.stdout == "alice: added for SCRAM-SHA-256 and SCRAM-SHA-512\n"
    assert run("list").stdout == BOTH
    for file in (tmp_path / "data").iterdir():
        assert b"alice-secret" not in file.read_bytes()


@pytest.mark.parametrize(
    ("offered", "named", "missing"),
    [
        ("SCRAM-SHA-512", "--mechanism SCRAM-SHA-256", "SCRAM-SHA-256"),
        ("SCRAM-SHA-256", "", ""),
    ],
)
def test_mechanism_without_listener_is_warned_about(
    run: Run, offered: str, named: str, missing: str
) -> None:
    added = run(f"add alice {named}", after=f"--override sasl.enabled.mechanisms={offered}")

    assert added.exit_code == 0
    assert added.stdout.startswith("alice: added for")
    warning = f"warning: no listener offers {missing}: alice cannot"
    assert added.stderr.startswith(warning if missing else "")
    assert bool(added.stderr) is bool(missing)


def test_control_characters_of_names_are_escaped(run: Run) -> None:
    """Whoever may create users could write to the terminal of who lists them."""
    added = run("add al\x07ice --mechanism SCRAM-SHA-256")

    assert added.stdout == "al\\x07ice: added for SCRAM-SHA-256\n"
    assert run("list").stdout == "al\\x07ice  SCRAM-SHA-256  4096 iterations\n"


def test_user_is_added_once(run: Run) -> None:
    run("add alice --mechanism SCRAM-SHA-256")

    again = run("add alice", "other\n")
    more = run("add alice --mechanism SCRAM-SHA-512 --iterations 16384")

    assert (again.exit_code, again.stdout) == (1, "")
    assert again.stderr == (
        "doorkeeper: alice already has a password for SCRAM-SHA-256; change it with doorkeeper"
        " users set-password\n"
    )
    assert more.stdout == "alice: added for SCRAM-SHA-512\n"
    assert run("list").stdout.endswith("alice  SCRAM-SHA-512  16384 iterations\n")


def test_new_password_keeps_mechanisms_and_iterations(run: Run, tmp_path: Path) -> None:
    def stored() -> dict[str, tuple[int, bytes]]:
        store = open_store(tmp_path / "data")
        found = {row.mechanism: (row.iterations, row.salt) for row in store.rows(CREDENTIAL)}
        store.close()
        return found

    run("add alice --mechanism SCRAM-SHA-256 --iterations 8192")
    before = stored()

    changed = run("set-password alice", "new\n")
    after = stored()
    more = run("set-password alice --mechanism SCRAM-SHA-512", "new\n")

    assert changed.stdout == "alice: new password for SCRAM-SHA-256\n"
    assert after["SCRAM-SHA-256"][0] == 8192
    assert after["SCRAM-SHA-256"][1] != before["SCRAM-SHA-256"][1]
    assert more.exit_code == 0
    assert {name: rounds for name, (rounds, _) in stored().items()} == {
        "SCRAM-SHA-256": 8192,
        "SCRAM-SHA-512": 4096,
    }


def test_user_is_removed_by_mechanism_or_entirely(run: Run) -> None:
    run("add alice")

    half = run("remove alice --mechanism SCRAM-SHA-512")
    wrong = run("remove alice --mechanism SCRAM-SHA-256 --mechanism SCRAM-SHA-512")
    rest = run("remove alice")
    none = run("remove alice")

    assert half.stdout == "alice: removed for SCRAM-SHA-512\n"
    assert (wrong.exit_code, wrong.stderr) == (
        1,
        "doorkeeper: alice has no credentials for SCRAM-SHA-512\n",
    )
    assert rest.stdout == "alice: removed for SCRAM-SHA-256\n"
    assert (none.exit_code, none.stderr) == (1, "doorkeeper: no user alice\n")
    assert run("list").output == ""


@pytest.mark.parametrize(
    ("line", "status", "text"),
    [
        ("list", 1, "found no store"),
        ("set-password alice", 1, "found no store"),
        ("add al\u00eece", 1, "a SCRAM user name must be ASCII"),
        ("add alice --password-file /absent", 1, "/absent: cannot read: No such file"),
        ("add alice --iterations 4095", 2, "4096<=x<=16384"),
        ("add alice --iterations 16385", 2, "4096<=x<=16384"),
        ("add alice --password secret", 2, "No such option"),
        ("list --command-config x", 2, "--command-config requires a live cluster"),
    ],
)
def test_invalid_input_exits_with_1_or_2(run: Run, line: str, status: int, text: str) -> None:
    """Status 1 for what cannot be done, 2 for wrong usage; no password is taken as an argument."""
    found = run(line)

    assert (found.exit_code, found.stdout) == (status, "")
    assert text in found.stderr


@pytest.mark.parametrize(
    ("address", "words", "text"),
    [
        ("kafka://localhost:1", "--override a=b", "--override applies to stores"),
        ("controllers://localhost:1", "", "expected: kafka://HOST:PORT"),
        ("acls.yaml", "", "expected: kafka://HOST:PORT"),
    ],
)
def test_other_addresses_are_rejected(address: str, words: str, text: str) -> None:
    found = CliRunner().invoke(doorkeeper, ["users", "list", address, *words.split()])

    assert found.exit_code == 2
    assert text in found.stderr


def test_unreachable_servers_are_listed() -> None:
    found = CliRunner().invoke(doorkeeper, ["users", "list", "127.0.0.1:1,127.0.0.1:2"])
    wrong = CliRunner().invoke(doorkeeper, ["users", "list", "kafka://localhost:1,nonsense"])

    assert (found.exit_code, wrong.exit_code) == (1, 1)
    assert found.stderr == (
        "doorkeeper: 127.0.0.1:1: Connection refused; 127.0.0.1:2: Connection refused\n"
    )
    assert wrong.stderr == "doorkeeper: found 'nonsense'; expected: host:port\n"
