"""``doorkeeper config check``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper

if TYPE_CHECKING:
    from pathlib import Path


def test_a_right_file(tmp_path: Path) -> None:
    """Warnings are printed, and that the server can start."""
    file = tmp_path / "server.properties"
    file.write_text("log.dirs=/x\n")

    result = CliRunner().invoke(doorkeeper, ["config", "check", str(file)])

    assert result.exit_code == 0
    assert result.output == (
        "warning: keys of Kafka that have no effect here: log.dirs\n"
        f"{file}: the server can start with it\n"
    )


def test_a_wrong_file(tmp_path: Path) -> None:
    """Errors are printed, one line each, and the status is 1."""
    file = tmp_path / "server.properties"
    file.write_text("num.partitons=1\nnum.partitions=x\n")

    result = CliRunner().invoke(doorkeeper, ["config", "check", str(file)])

    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 2


def test_overrides_are_checked_too(tmp_path: Path) -> None:
    """An override may be what is wrong."""
    file = tmp_path / "server.properties"
    file.write_text("")

    result = CliRunner().invoke(
        doorkeeper, ["config", "check", str(file), "--override", "num.partitions=0"]
    )

    assert result.exit_code == 1


def test_what_the_file_names_is_checked_too(tmp_path: Path) -> None:
    """A catalog with faults and a super user without a type are told, one line each."""
    catalog = tmp_path / "catalog.yaml"
    catalog.write_text("topics:\n- name: 'a b'\n")
    file = tmp_path / "server.properties"
    file.write_text(
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
        f"super.users=admin\ndoorkeeper.catalog.file={catalog}\n"
    )

    result = CliRunner().invoke(doorkeeper, ["config", "check", str(file)])

    assert result.exit_code == 1
    assert result.stdout == ""
    first, second = result.stderr.splitlines()
    assert first.startswith("doorkeeper: super.users: ")
    assert second.startswith(f"doorkeeper: {catalog}:2: ")
