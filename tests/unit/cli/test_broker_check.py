"""``doorkeeper config check --broker``: files, formats, statuses; rules have their own tests."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from testkit.certificates import PASSWORD, world
from testkit.config_rule_examples import BASE

if TYPE_CHECKING:
    from pathlib import Path


def check(*words: object) -> tuple[int, str, str]:
    """Run the check; return status, output and errors."""
    command = ["config", "check", "--broker", *map(str, words)]
    result = CliRunner().invoke(doorkeeper, command)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Give a file that a broker starts with, and nothing is said of."""
    path = tmp_path / "server.properties"
    path.write_text(BASE)
    return path


def test_correct_file(file: Path) -> None:
    """One line for each file, status 0, also with --strict."""
    status, out, err = check(file)

    assert (status, err) == (0, "")
    assert out.startswith(f"{file}: 0 errors, 0 warnings (")
    assert out.endswith(" rules about security keys of Kafka 4.3, 12 keys in the file)\n")
    assert check(file, "--strict") == (0, out, "")


def test_broker_without_authorizer(file: Path) -> None:
    file.write_text(re.sub(r"authorizer\.class\.name=.*\n|super\.users=.*\n", "", BASE))

    status, out, _ = check(file, "--strict")

    assert status == 1
    assert f"warning: {file}: authorizer.class.name: everything is allowed" in out


def test_errors_and_warnings_are_listed_together(file: Path) -> None:
    file.write_text(BASE + "super.users=User:ANONYMOUS;User:admin,User:ops;admin\n")

    status, out, err = check(file)

    lines = out.splitlines()
    assert (status, err) == (1, "")
    assert lines[0].startswith(f"error: {file} line 13: super.users: found 'admin'; allowed:")
    assert lines[0].endswith("(C505)")
    assert [line.rpartition(" ")[2] for line in lines[1:-2]] == ["(C106)", "(C506)", "(C515)"]
    assert lines[-1].startswith(f"{file}: 1 error, 3 warnings (")
    assert lines[-1].endswith(": Kafka 4.3 refuses to start with this file")


def test_json_and_sarif_have_line_numbers(file: Path) -> None:
    file.write_text(BASE + "super.users=User:ANONYMOUS;User:admin;user:bob\n")

    _, as_json, _ = check(file, "--output", "json")
    status, as_sarif, _ = check(file, "--output", "sarif", "--strict")

    finding = json.loads(as_json)["findings"][1]
    assert (finding["code"], finding["severity"], finding["line"]) == ("C508", "warning", 13)
    assert finding["page"] == "docs/reference/config-rules.md#c508"
    run: dict[str, Any] = json.loads(as_sarif)["runs"][0]
    assert status == 1
    result = run["results"][1]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "C508"
    place = result["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": str(file)}, "region": {"startLine": 13}}


def test_files_of_a_cluster_are_compared(file: Path, tmp_path: Path) -> None:
    controller = tmp_path / "controller.properties"
    controller.write_text(
        "process.roles=controller\nnode.id=9\nlisteners=CONTROLLER://localhost:9093\n"
        "controller.quorum.voters=9@localhost:9093\ncontroller.listener.names=CONTROLLER\n"
    )

    status, out, _ = check(file, controller)

    assert status == 0
    assert "authorizer.class.name: not set, but" in out
    assert "(C701)" in out


def test_local_key_stores_are_opened(file: Path, tmp_path: Path) -> None:
    store = tmp_path / "kafka.p12"
    store.write_bytes(world().server.pkcs12())
    tls = BASE.replace("SASL:SASL_PLAINTEXT", "SASL:SASL_SSL")

    def told(location: object, password: str) -> str:
        keys = f"ssl.keystore.location={location}\nssl.keystore.password={password}\n"
        file.write_text(tls + keys)
        return check(file)[1]

    assert "C406" not in told(store, PASSWORD)
    assert "cannot be opened with its password (C406)" in told(store, "wrong")
    assert "missing.p12 does not exist (C406)" in told(tmp_path / "missing.p12", PASSWORD)
    assert "C406" not in told("/nowhere/kafka.p12", PASSWORD)
    assert "wrong" not in told(store, "wrong").replace("wrong password", "")


COMPOSE = """\
services:
  kafka:
    image: apache/kafka:4.3.1
    environment: &kafka
      KAFKA_PROCESS_ROLES: broker,controller
      KAFKA_NODE_ID: 1
      KAFKA_CONTROLLER_QUORUM_VOTERS: 1@kafka:9093
      KAFKA_LISTENERS: SASL_PLAINTEXT://:9092,CONTROLLER://:9093
      KAFKA_ADVERTISED_LISTENERS: SASL_PLAINTEXT://${HOST:-localhost}:9092
      KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT
      KAFKA_CONTROLLER_LISTENER_NAMES: CONTROLLER
      KAFKA_INTER_BROKER_LISTENER_NAME: SASL_PLAINTEXT
      KAFKA_SASL_ENABLED_MECHANISMS: SCRAM-SHA-512
      KAFKA_SASL_MECHANISM_INTER_BROKER_PROTOCOL: SCRAM-SHA-512
      KAFKA_LISTENER_NAME_SASL__PLAINTEXT_SCRAM___SHA___512_SASL_JAAS_CONFIG:
        org.apache.kafka.common.security.scram.ScramLoginModule required
        username="admin" password="x";
      KAFKA_AUTHORIZER_CLASS_NAME: org.apache.kafka.metadata.authorizer.StandardAuthorizer
      KAFKA_SUPER_USERS: User:admin;User:ANONYMOUS
  ui:
    image: provectuslabs/kafka-ui
    environment: {KAFKA_CLUSTERS_0_NAME: a}
"""


def test_environment_of_a_container_image(tmp_path: Path) -> None:
    file = tmp_path / "compose.yaml"
    file.write_text(COMPOSE)
    right = check("--compose", file)
    file.write_text(COMPOSE.replace("SCRAM___SHA___512", "SCRAM_SHA_512"))

    status, out, _ = check("--compose", file)

    assert right[0] == 0
    assert right[1].startswith(f"{file} service kafka: 0 errors, 0 warnings (")
    assert status == 0  # The image may have a JAAS file.
    assert "write KAFKA_LISTENER_NAME_SASL__PLAINTEXT_SCRAM___SHA___512_SASL_JAAS_CONFIG" in out


def test_other_files_are_rejected(tmp_path: Path, file: Path) -> None:
    """A file that is not there, YAML without Kafka, and options of the other check: one line."""
    (tmp_path / "other.yaml").write_text("services: {web: {image: nginx}}\n")
    (tmp_path / "jaas.conf").write_text("KafkaServer { x required }\n")

    assert "No such file" in check(tmp_path / "absent")[2]
    assert "no service has an image of Kafka" in check("--compose", tmp_path / "other.yaml")[2]
    assert "jaas.conf line 1" in check(file, "--jaas-file", tmp_path / "jaas.conf")[2]
    assert check()[0] == check(file, "--override", "a=b")[0] == 2
    own = CliRunner().invoke(doorkeeper, ["config", "check", str(file), "--output", "sarif"])
    assert own.exit_code == 2
