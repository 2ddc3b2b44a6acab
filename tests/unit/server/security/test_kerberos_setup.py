"""What Kerberos needs of the machine, and the words for what is missing."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.config.keys import KERBEROS_CONFIG_FILE
from doorkeeper.server.config.sasl_keys import SASL_KERBEROS_PRINCIPAL_TO_LOCAL_RULES
from doorkeeper.server.security.kerberos_setup import (
    VARIABLE,
    acceptor,
    bindings,
    minor_text,
    short_namer,
    use_configuration,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)

    with pytest.raises(
        ValueError, match=r"GSSAPI requires the package gssapi .*doorkeeper\[kerberos\]"
    ):
        bindings()


def test_key_selects_the_krb5_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "/other")
    file = tmp_path / "krb5.conf"
    file.write_text("[libdefaults]\n")

    use_configuration({KERBEROS_CONFIG_FILE.name: f" {file} "})

    assert os.environ[VARIABLE] == str(file)


def test_missing_krb5_configuration_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    missing = tmp_path / "krb5.conf"

    with pytest.raises(ValueError) as by_key:
        use_configuration({KERBEROS_CONFIG_FILE.name: str(missing)})
    monkeypatch.setenv(VARIABLE, str(missing))
    with pytest.raises(ValueError) as by_variable:
        use_configuration({})

    assert str(by_key.value) == f"{KERBEROS_CONFIG_FILE}: {missing}: No such file or directory"
    assert str(by_variable.value) == (
        f"{KERBEROS_CONFIG_FILE}: not set, and the variable {VARIABLE} is not a valid Kerberos"
        f" configuration: {missing}: No such file or directory"
    )


def test_missing_keytab_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"keyTab .*/k: No such file or directory"):
        acceptor(tmp_path / "k", "kafka/localhost")


def test_invalid_rule_names_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "doorkeeper.server.security.kerberos_setup.default_realm", lambda: "EXAMPLE.COM"
    )
    monkeypatch.setenv(VARIABLE, "")
    file = tmp_path / "krb5.conf"
    file.write_text("")

    rules = SASL_KERBEROS_PRINCIPAL_TO_LOCAL_RULES.name
    config = {KERBEROS_CONFIG_FILE.name: str(file)}
    namer = short_namer({**config, rules: " RULE:[2:$1]/U , DEFAULT "})
    with pytest.raises(ValueError, match=r"^sasl\.kerberos\.principal\.to\.local\.rules: Invalid"):
        short_namer({**config, rules: "DEFAULT,x"})

    assert namer.short_name("alice@EXAMPLE.COM") == "alice"
    assert namer.short_name("alice/host@EXAMPLE.COM") == "ALICE"


class _Status(Exception):
    """An error of the library; ``minor`` is the mechanism's text."""

    min_code, maj_code = 100001, 0xD0000

    def __init__(self, minor: str) -> None:
        self.minor = minor

    def get_all_statuses(self, code: int, is_major: bool) -> list[str]:
        return ["Unspecified GSS failure."] if is_major else [self.minor]


@pytest.mark.parametrize(
    ("minor", "told"),
    [
        ("Request is a replay", "Request is a replay"),
        ("Success", "Unspecified GSS failure."),
        ("Unknown error", "Unspecified GSS failure."),
    ],
)
def test_failure_is_not_called_a_success(minor: str, told: str) -> None:
    """Tokens of other programs: the mechanism has no status for them, and the log has a reason."""
    assert minor_text(_Status(minor)) == told
