"""Variables in a client's properties."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.client.config_providers import CLASSES, VariableError, resolve
from doorkeeper.client.logins import Password
from doorkeeper.client.properties import CommandConfigError, client_config

if TYPE_CHECKING:
    from pathlib import Path

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
DECLARED = {
    "config.providers": "env, file,dir",
    **{f"config.providers.{name}.class": each for name, each in CLASSES.items()},
}


def test_config_providers_resolve_variables(tmp_path: Path) -> None:
    (tmp_path / "keys.properties").write_text("key = caf\u00e9\nother=x\n", encoding="utf-8")
    (tmp_path / "pw").write_text("s3cret\n")
    values = {
        **DECLARED,
        "env": "<${env:A}${env:A}>",
        "file": f"${{file:{tmp_path}/keys.properties:key}}",
        "dir": f"${{dir:{tmp_path}:pw}}",
        "once": "${env:B}",
        "none": "$A ${A} ${vault:a:b}",
    }

    found = resolve(values, {"A": "1", "B": "${env:A}"})

    assert {key: found[key] for key in ("env", "file", "dir", "once", "none")} == {
        "env": "<11>",
        "file": "caf\u00e9",
        "dir": "s3cret",
        "once": "${env:A}",
        "none": "$A ${A} ${vault:a:b}",
    }


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"k": "${env:A}", "config.providers": ""},
         "k: found ${env:A}, but config.providers does not name env; expected:"),
        ({"k": "${env:A}", "config.providers": ""},
         "config.providers=env and config.providers.env.class=org.apache.kafka"),
        ({"k": "${env:NO}"}, "k: ${env:NO}: no such environment variable"),
        ({"k": "${env:p:A}"}, "a path in a reference to an environment variable"),
        ({"k": "${env:A}", "config.providers.env.param.allowlist.pattern": "KAFKA_.*"},
         "the name does not match allowlist.pattern KAFKA_.*"),
        ({"k": "${env:A}", "config.providers.env.param.allowlist.pattern": "("},
         "k: ${env:A}: allowlist.pattern: "),
        ({"k": "${file:/no/such:a}"}, "cannot read /no/such: No such file or directory"),
        ({"k": "${file:a}"}, "k: ${file:a}: expected ${file:PATH:KEY}"),
        ({"k": "${dir:a}"}, "k: ${dir:a}: expected ${dir:PATH:NAME}"),
        ({"k": "${dir:/etc:../etc/hostname}"}, "must not contain a slash"),
        ({"k": "${dir:/etc:hostname}", "config.providers.dir.param.allowed.paths": "/run,/var/x"},
         "the path is not in allowed.paths: /run,/var/x"),
        ({"config.providers": "vault"}, "config.providers.vault.class: found nothing; allowed"),
        ({"config.providers.env.class": "com.example.Vault"}, "found com.example.Vault; allowed"),
    ],
)  # fmt: skip
def test_unresolvable_variables_are_rejected(settings: dict[str, str], error: str) -> None:
    """It is refused: Java's client would log in with the text of the variable."""
    with pytest.raises(VariableError) as raised:
        resolve({**DECLARED, **settings}, {"A": "secret-value"})

    assert error in str(raised.value)
    assert "secret-value" not in str(raised.value)


def test_error_for_missing_key_hides_other_keys(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("other=x\n")

    with pytest.raises(VariableError, match="no such key in the file"):
        resolve({**DECLARED, "k": f"${{file:{tmp_path}/keys:key}}"}, {})
    (tmp_path / "keys").write_bytes(b"\xff")
    with pytest.raises(VariableError, match="byte 0 is not UTF-8"):
        resolve({**DECLARED, "k": f"${{file:{tmp_path}/keys:key}}"}, {})


def test_password_from_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "client.properties"
    lines = [f"{key}={value}" for key, value in DECLARED.items()]
    lines += [
        "security.protocol=SASL_PLAINTEXT",
        "sasl.mechanism=PLAIN",
        f'sasl.jaas.config={MODULE} required username="a" password="${{env:TEST_PASSWORD}}";',
    ]
    path.write_text("\n".join(lines))
    monkeypatch.setenv("TEST_PASSWORD", "pw")

    assert client_config("localhost:9092", path).login == Password("PLAIN", "a", "pw")
    monkeypatch.delenv("TEST_PASSWORD")
    with pytest.raises(CommandConfigError, match=r"sasl\.jaas\.config: \$\{env:TEST_PASSWORD"):
        client_config("localhost:9092", path)
