"""Addresses on the command line, and their shorthand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import click
import pytest
from click.testing import CliRunner

from doorkeeper.cli.acls.addresses import (
    NO_ADDRESS,
    Location,
    location_options,
    take_location,
)
from doorkeeper.cli.commands import doorkeeper
from doorkeeper.cli.repositories.addresses import parse_address

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def location(*words: str, others: Sequence[str] = (), **keywords: Any) -> Location:
    @click.command()
    @location_options(is_kafkas=True, has_policy=keywords.get("has_policy", False))
    def command(**options: Any) -> Location:
        return take_location(options, *map(parse_address, others), **keywords)

    result = CliRunner().invoke(command, words, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return cast("Location", result.return_value)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "server.properties"
    path.write_text(
        f"listeners=PLAINTEXT://localhost:0\nauthorizer.class.name={STANDARD}\n"
        f"super.users=User:root\ndoorkeeper.data.dir={tmp_path / 'data'}\n"
    )
    return path


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("h:1",), ("kafka://h:1",)),
        (("--bootstrap-server", "h:1"), ("kafka://h:1",)),
        (
            ("--bootstrap-controller", "h:1", "--command-config", "f"),
            ("controllers://h:1", "--command-config", "f"),
        ),
        (("config:f", "--override", "a=b"), ("config:f", "--override", "a=b")),
    ],
)
def test_options_are_shorthand_for_addresses(
    words: tuple[str, ...], named: tuple[str, ...]
) -> None:
    """A location has words that name it again."""
    found = location(*words)

    assert found.words == named
    assert location(*found.words) == found


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "ADDRESS is missing"),
        (("h:1", "--bootstrap-server", "h:1"), "found several of ADDRESS"),
        (
            ("--bootstrap-controller", "h:1", "--bootstrap-server", "h:1"),
            "found several of ADDRESS",
        ),
        (("h:1", "--override", "a=b"), "--override applies to stores, and kafka://h:1 is not one."),
        (("--override", "a=b"), "ADDRESS is missing"),
        (("config:f", "--command-config", "g"), "--command-config requires a live cluster"),
        (("acls.yaml", "--command-config", "g"), "--command-config requires a live cluster"),
        (("ftp://h",), "expected: an address: a file, kafka://"),
    ],
)
def test_command_accepts_one_location(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        location(*words)

    assert said in str(caught.value)


def test_store_excludes_config_as_policy_source() -> None:
    """--config is the source of a policy beside files and live clusters alone."""
    with pytest.raises(click.UsageError, match="store:d and --config both name a store"):
        location("store:d", "--config", "f", has_policy=True)

    assert str(location("h:1", "--config", "f", has_policy=True).policy_config) == "f"


@pytest.mark.parametrize(
    "words",
    [
        "add --topic t --allow-principal User:a",
        "remove --topic t",
        "list",
        "export",
        "lint",
        "explain --principal User:a --operation Read --topic t",
        "who-can --operation Read --topic t",
        "what-can --principal User:a",
        "assert rules.yaml",
        "plan acls.yaml",
        "apply acls.yaml",
        "import acls.yaml",
    ],
)
def test_commands_require_an_address(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.yaml").write_text(
        "version: 1\nrules:\n- {rule: never, principal: 'User:*', operation: ALTER,"
        " resourceType: CLUSTER}\n"
    )
    assert CliRunner().invoke(doorkeeper, ["store", "create", "store:data"]).exit_code == 0

    result = CliRunner().invoke(doorkeeper, ["acls", *words.split()])

    assert result.exit_code == 2
    assert result.stderr.endswith(f"Error: {NO_ADDRESS}\n")
