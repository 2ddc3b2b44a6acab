"""Options that several commands have."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


BLOCK = """
KafkaServer {
    org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="hush";
};
"""
SASL = (
    "listeners=SASL://localhost:0\nlistener.security.protocol.map=SASL:SASL_PLAINTEXT\n"
    "sasl.enabled.mechanisms=PLAIN\n"
)


def check(file: Path, *arguments: str, variable: str = "") -> Result:
    """Check a configuration file."""
    command = ["config", "check", str(file), *arguments]
    return CliRunner(env={"DOORKEEPER_JAAS_FILE": variable}).invoke(doorkeeper, command)


def test_jaas_file_by_option_variable_and_key(tmp_path: Path) -> None:
    right, wrong = tmp_path / "right.conf", tmp_path / "wrong.conf"
    right.write_text(BLOCK)
    file = tmp_path / "server.properties"
    file.write_text(SASL)
    with_key = tmp_path / "with-key.properties"
    with_key.write_text(f"{SASL}doorkeeper.jaas.file={wrong}\n")

    assert check(file).exit_code == 1
    assert check(file, "--jaas-file", str(right)).exit_code == 0
    assert check(file, variable=str(right)).exit_code == 0
    assert check(file, "--jaas-file", str(right), variable=str(wrong)).exit_code == 0
    assert check(with_key, variable=str(right)).exit_code == 0
    refused = check(with_key)
    assert refused.exit_code == 1
    assert refused.stderr == (
        f"doorkeeper: {with_key} line 4: doorkeeper.jaas.file: cannot read {wrong}: No such file"
        " or directory\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        ("add", "--allow-principal", "User:\udcff", "--operation", "Read", "--topic", "t"),
        ("list", "--group", "é123\udcff"),
        ("who-can", "--operation", "Read", "--topic", "tests\udcff"),
        ("plan", "acls.yaml", "acls.yaml", "--own-principal", "User:\udcff"),
    ],
)
def test_invalid_utf_8_is_wrong_usage(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(doorkeeper, ["acls", *words])

    assert (result.exit_code, result.stdout) == (2, "")
    told = result.stderr.splitlines()[-1]
    option = next(before for before, word in itertools.pairwise(words) if _odd(word))
    assert told == f"Error: Invalid value for '{option}': byte 5 is not UTF-8"


def _odd(word: str) -> bool:
    return any("\udc80" <= each <= "\udcff" for each in word)
