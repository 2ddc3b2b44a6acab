"""``doorkeeper serve``: what is wrong before anything is started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from doorkeeper.server.app.errors import StartError

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_authorizer_and_key_errors_are_reported_together(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=x\nauthorizer.class.name=com.example.Rules\n")

    result = CliRunner().invoke(doorkeeper, ["serve", "--config", str(file)])

    first, second = result.stderr.splitlines()
    assert first.startswith(f"doorkeeper: {file} line 1: num.partitions: ")
    assert second.startswith(f"doorkeeper: {file} line 2: authorizer.class.name=com.example.")


def test_start_error_is_reported_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def serve(*_arguments: object) -> None:
        raise StartError("one", "two")

    monkeypatch.setattr("doorkeeper.server.app.process.serve", serve)

    result = CliRunner().invoke(doorkeeper, ["serve"])

    assert result.exit_code == 1
    assert result.stderr == "doorkeeper: one\ndoorkeeper: two\n"


def test_image_variables_without_effect_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, without their values; what Kubernetes sets for a service named kafka is no key."""
    monkeypatch.setattr("doorkeeper.server.app.process.serve", lambda *_arguments: None)
    usual = CliRunner().invoke(doorkeeper, ["serve"], env={"KAFKA_PORT": "tcp://10.0.0.1:9092"})
    environment = {
        "KAFKA_SUPER_USERS": "User:hush",
        "KAFKA_LISTENER_NAME_CLIENTS_SCRAM___SHA___512_SASL_JAAS_CONFIG": "hush",
        "KAFKA_OPTS": "-Xmx1g -Djava.security.auth.login.config=/hush",
    }

    result = CliRunner().invoke(doorkeeper, ["serve"], env=environment)

    assert usual.stderr == ""
    [line] = result.stderr.splitlines()
    assert line.startswith("doorkeeper: the variables of Kafka's images have no effect: ")
    assert "KAFKA_SUPER_USERS (super.users)" in line
    assert "(listener.name.clients.scram-sha-512.sasl.jaas.config)" in line
    assert "KAFKA_OPTS (java.security.auth.login.config)" in line
    assert "DOORKEEPER_JAAS_FILE" in line
    assert "hush" not in line
