"""``doorkeeper config check`` and ``show``."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from doorkeeper.server.config.loading import STANDARD_AUTHORIZER
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import CONFIG
from testkit.stores import config, fill

if TYPE_CHECKING:
    from pathlib import Path


STANDARD = f"authorizer.class.name={STANDARD_AUTHORIZER}"


def check(*words: object) -> tuple[int, str, str]:
    """Run the check; return status, output and errors."""
    result = CliRunner().invoke(doorkeeper, ["config", "check", *map(str, words)])
    return result.exit_code, result.stdout, result.stderr


def test_file_without_authorizer_is_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=3\n")

    status, out, _ = check(file)
    strict = check(file, "--strict")

    assert status == 0
    assert (
        f"{file}: authorizer.class.name: everything is allowed, because there is no authorizer;"
        in out
    )
    assert (strict[0], strict[2]) == (
        1,
        f"doorkeeper: {file}: 1 warnings, which --strict treats as errors\n",
    )
    file.write_text(STANDARD)
    assert check(file, "--strict") == (0, f"{file}: the server can start with it\n", "")


def test_unreadable_files_are_rejected(tmp_path: Path) -> None:
    """Binary data, a folder and a file that is not there: one line, status 1."""
    (tmp_path / "binary").write_bytes(b"\xe7ELF\xf2\x00=\n")
    (tmp_path / "encrypted").write_bytes(b"\xde\xad=\xff\n\x01\x02\n")

    found = [check(tmp_path / name) for name in ("binary", "encrypted", "", "absent")]

    assert [(status, out) for status, out, _ in found] == [(1, "")] * 4
    assert "found a NUL at byte 5" in found[0][2]
    assert "found the control character 0x01 at byte 5" in found[1][2]
    assert "cannot be read: Is a directory" in found[2][2]
    assert "cannot be read: No such file" in found[3][2]


def test_warnings_are_shown_with_errors(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        "listeners=CLIENTS://localhost:0\nlistener.security.protocol.map=CLIENTS:SASL_PLAINTEXT\n"
        "inter.broker.listener.name=CLIENTS\nsasl.enabled.mechanisms=PLAIN\n"
        "listener.name.client.plain.sasl.jaas.config=x required;\nsuper.users=User:a,User:b\n"
    )

    status, out, err = check(file)

    assert status == 1
    assert "there is no listener CLIENT; did you mean listener.name.clients.plain" in out
    assert "'User:a,User:b' is one name; separate names with semicolons" in out
    assert "listener.name.client.plain.sasl.jaas.config is not read: give" in err


SECRETS = """\
listeners=SASL://localhost:0
listener.security.protocol.map=SASL:SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required user_a="s3cret";
com.example.password=s3cret
log.dirs=/x
"""


def shown(file: Path, *words: str) -> str:
    result = CliRunner().invoke(doorkeeper, ["config", "show", str(file), *words])
    assert result.exit_code == 0, result.output
    return result.output


def test_secrets_are_hidden(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(f"{SECRETS}super.users=User:a\n")

    table, rows = shown(file), json.loads(shown(file, "--output", "json"))["values"]

    assert "s3cret" not in table + json.dumps(rows)
    by_key = {row["key"]: row for row in rows}
    assert by_key["com.example.password"]["value"] == "(hidden)"
    assert by_key["super.users"] == {
        "key": "super.users",
        "value": "User:a",
        "source": f"{file} line 7",
        "hasEffect": True,
    }


def test_reset_requires_keys_or_all(tmp_path: Path) -> None:
    """Neither and both are wrong usage; without a store the status is 1, in one line."""
    store = f"store:{tmp_path / 'data'}"
    run = CliRunner().invoke

    assert run(doorkeeper, ["config", "reset", store]).exit_code == 2
    assert run(doorkeeper, ["config", "reset", store, "super.users", "--all"]).exit_code == 2
    result = run(doorkeeper, ["config", "reset", store, "--all"])
    assert result.exit_code == 1
    assert "found no store" in result.stderr


def test_reset_lists_reset_keys(tmp_path: Path) -> None:
    values = [config("super.users", "x"), config("max.connections", "x", "1")]
    asyncio.run(fill(tmp_path / "data", edit(CONFIG, set=values)))
    reset = ["config", "reset", f"store:{tmp_path / 'data'}", "--all"]

    first, second = (CliRunner().invoke(doorkeeper, reset) for _ in range(2))

    assert first.output == (
        "reset: super.users of the cluster\nreset: max.connections of broker 1\n"
    )
    assert (second.exit_code, second.output) == (0, "nothing to reset\n")


def test_login_modules_are_hidden(tmp_path: Path) -> None:
    jaas_file = tmp_path / "jaas.conf"
    jaas_file.write_text('KafkaServer { m.N required user_alice="hush"; };')
    file = tmp_path / "server.properties"
    file.write_text(
        "listener.name.x.plain.sasl.jaas.config=m.N required user_bob=hush;\n"
        "listener.name.x.ssl.keystore.password=hush\n"
    )
    arguments = ["config", "show", str(file), "--jaas-file", str(jaas_file)]

    result = CliRunner().invoke(doorkeeper, arguments)

    assert result.exit_code == 0
    assert "hush" not in result.output
    assert f"doorkeeper.jaas.file={jaas_file}  (--override)" in result.output
    assert "listener.name.x.ssl.keystore.password=(hidden)" in result.output


def init(*words: object) -> tuple[int, str, str]:
    """Run ``config init``; return status, output and errors."""
    result = CliRunner().invoke(doorkeeper, ["config", "init", *map(str, words)])
    return result.exit_code, result.stdout, result.stderr


def test_sample_is_valid_and_private(tmp_path: Path) -> None:
    status, out, _ = init(tmp_path)
    file = tmp_path / "server.properties"

    assert status == 0
    assert out.startswith(f"wrote {file}; change its passwords")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_text(encoding="utf-8").startswith("# ")
    *warnings, last = check(file)[1].splitlines()
    assert all("is a password from the examples" in each for each in warnings)
    assert last == f"{file}: the server can start with it"


def test_sample_does_not_overwrite_by_default(tmp_path: Path) -> None:
    file = tmp_path / "mine.properties"
    file.write_text("node.id=7\n")

    refused = init(file)
    kept = file.read_text(encoding="utf-8")
    forced = init(file, "--overwrite")

    assert refused == (
        1,
        "",
        f"doorkeeper: {file}: the file exists; to replace it, add --overwrite\n",
    )
    assert kept == "node.id=7\n"
    assert forced[0] == 0
    assert "listeners=SASL://" in file.read_text(encoding="utf-8")


def test_example_passwords_are_warned_about(tmp_path: Path) -> None:
    file, jaas = tmp_path / "server.properties", tmp_path / "kafka.jaas"
    CliRunner().invoke(doorkeeper, ["config", "init", str(file)])
    sample = file.read_text()

    status, out, _ = check(file)
    strict = check(file, "--strict")
    file.write_text(sample.replace("change-me-too", "3tuzVJNh").replace("change-me", "9xQmW2kd"))
    changed = check(file, "--strict")
    jaas.write_text(
        "KafkaServer { org.apache.kafka.common.security.plain.PlainLoginModule required"
        ' user_a="alice-secret"; };'
    )
    of_jaas = check(file, "--override", f"doorkeeper.jaas.file={jaas}")

    assert (status, strict[0]) == (0, 1)
    warning = "is a password from the examples, which is publicly known"
    warnings = [line for line in out.splitlines() if f"{warning} (C901)" in line]
    assert len(warnings) == 2
    assert "listener.name.sasl.plain.sasl.jaas.config is" in warnings[0]
    assert "change-me" not in out
    assert changed == (0, f"{file}: the server can start with it\n", "")
    assert f"warning: {jaas} {warning}" in of_jaas[1]


def test_sample_for_containers(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"

    written = CliRunner().invoke(doorkeeper, ["config", "init", str(file), "--container"])
    shown = CliRunner().invoke(doorkeeper, ["config", "show", str(file), "--output", "json"])

    assert "chown 10001" in written.stdout
    assert check(file, "--override", f"doorkeeper.data.dir={tmp_path}")[0] == 0
    values = {each["key"]: each["value"] for each in json.loads(shown.stdout)["values"]}
    assert values["listeners"] == "SASL://0.0.0.0:9092,CONTROLLER://0.0.0.0:9093"
    assert values["advertised.listeners"] == "SASL://localhost:9092"
    assert values["doorkeeper.data.dir"] == "/var/lib/doorkeeper"
    assert values["doorkeeper.http.listener"] == "http://127.0.0.1:9404"
