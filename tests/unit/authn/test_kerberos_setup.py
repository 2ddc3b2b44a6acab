"""What Kerberos needs of the machine, and the words for what is missing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from doorkeeper.authn.kerberos_setup import (
    CONFIG_KEY,
    RULES_KEY,
    VARIABLE,
    acceptor,
    bindings,
    minor_text,
    short_namer,
    unreadable,
    use_configuration,
)


def test_without_the_package_the_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named; nothing else of the server needs it."""
    monkeypatch.setitem(sys.modules, "gssapi", None)

    with pytest.raises(
        ValueError, match=r"GSSAPI needs the package gssapi .*doorkeeper\[kerberos\]"
    ):
        bindings()


def test_the_key_names_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts for the whole process, instead of what the environment says."""
    monkeypatch.setenv(VARIABLE, "/other")
    file = tmp_path / "krb5.conf"
    file.write_text("[libdefaults]\n")

    use_configuration({CONFIG_KEY: f" {file} "})

    assert os.environ[VARIABLE] == str(file)


def test_a_configuration_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing file is named, with the key or the variable that named it."""
    monkeypatch.delenv(VARIABLE, raising=False)
    missing = tmp_path / "krb5.conf"

    with pytest.raises(ValueError) as by_key:
        use_configuration({CONFIG_KEY: str(missing)})
    monkeypatch.setenv(VARIABLE, str(missing))
    with pytest.raises(ValueError) as by_variable:
        use_configuration({})

    assert str(by_key.value) == f"{CONFIG_KEY}: {missing}: No such file or directory"
    assert str(by_variable.value) == (
        f"{CONFIG_KEY}: not given, and the variable {VARIABLE} gives no configuration of Kerberos:"
        f" {missing}: No such file or directory"
    )


def test_one_of_several_files_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for the library: of the files in the variable some may be missing."""
    file = tmp_path / "krb5.conf"
    file.write_text("")
    monkeypatch.setenv(VARIABLE, f"/missing:{file}")

    use_configuration({})

    assert os.environ[VARIABLE] == f"/missing:{file}"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """What is wrong with a file is said in the words of the system."""
    assert unreadable(tmp_path) == "Is a directory"


def test_a_keytab_that_is_not_there(tmp_path: Path) -> None:
    """A missing keytab is named before the library is asked."""
    with pytest.raises(ValueError, match=r"keyTab .*/k: No such file or directory"):
        acceptor(tmp_path / "k", "kafka/localhost")


def test_a_rule_is_told_with_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken rule stops the start; the rules are separated by commas, as any list."""
    monkeypatch.setattr("doorkeeper.authn.kerberos_setup.default_realm", lambda: "EXAMPLE.COM")
    monkeypatch.setenv(VARIABLE, "")
    file = tmp_path / "krb5.conf"
    file.write_text("")

    namer = short_namer({CONFIG_KEY: str(file), RULES_KEY: " RULE:[2:$1]/U , DEFAULT "})
    with pytest.raises(ValueError, match=r"^sasl\.kerberos\.principal\.to\.local\.rules: Invalid"):
        short_namer({CONFIG_KEY: str(file), RULES_KEY: "DEFAULT,x"})

    assert namer.short_name("alice@EXAMPLE.COM") == "alice"
    assert namer.short_name("alice/host@EXAMPLE.COM") == "ALICE"


def test_errors_are_one_line() -> None:
    """Also one of another kind is told without line ends."""
    assert minor_text(ValueError("a\n b")) == "a b"
