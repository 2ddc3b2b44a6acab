"""Whose ACLs a command lists and changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
import pytest
from click.testing import CliRunner

from doorkeeper.acl.model import ANY_BINDING
from doorkeeper.cli.acls.targets import LiveAcls, java_text, run, target_of, target_options
from doorkeeper.client.admin import Created, Deleted, Removed
from doorkeeper.client.errors import ApiFailure, LoginRefused, NotServed, Unreachable
from doorkeeper.errors import ApiError, ErrorCode
from testkit.acl import READ, WRITE, allow, topic, wanted

if TYPE_CHECKING:
    from doorkeeper.cli.acls.targets import Target
    from doorkeeper.client.admin import AdminClient

ACLS = [allow("a", READ, topic("t")), allow("b", WRITE, topic("u"))]
NO = ApiError(ErrorCode.INVALID_REQUEST, "no")
PACKAGE = "org.apache.kafka.common.errors"


def meant(*words: str) -> Target:
    @click.command()
    @target_options
    def command(**options: Any) -> Target:
        return target_of(options)

    result = CliRunner().invoke(command, words, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return cast("Target", result.return_value)


def test_a_running_server_or_a_stopped_one() -> None:
    """The options that are given, and nothing else."""
    assert meant("--bootstrap-server", "h:1").bootstrap_server == "h:1"
    controller = meant("--bootstrap-controller", "h:1", "--command-config", "f")
    assert (controller.bootstrap_controller, controller.command_config) == ("h:1", Path("f"))
    assert meant("--config", "f").file == Path("f")
    assert meant("--override", "a=b").overrides == ("a=b",)


def test_a_jaas_file_in_the_environment_is_no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is there for a server."""
    monkeypatch.setenv("DOORKEEPER_JAAS_FILE", "f")

    assert meant("--bootstrap-server", "h:1").bootstrap_server == "h:1"


@pytest.mark.parametrize(
    ("words", "kind", "said"),
    [
        (
            ("--bootstrap-server", "h:1", "--bootstrap-controller", "h:2"),
            ValueError,
            "Only one of --bootstrap-server or --bootstrap-controller must be specified",
        ),
        ((), ValueError, "One of --bootstrap-server or --bootstrap-controller must be specified"),
        (
            ("--bootstrap-server", "h:1", "--config", "f"),
            click.UsageError,
            "--config is for a stopped server",
        ),
        (
            ("--config", "f", "--command-config", "g"),
            click.UsageError,
            "--command-config needs --bootstrap-server",
        ),
    ],
)
def test_neither_none_nor_two(words: tuple[str, ...], kind: type[Exception], said: str) -> None:
    """Kafka's texts where the tool knows the case."""
    with pytest.raises(kind) as caught:
        meant(*words)

    assert said in str(caught.value)


class Client:
    """A client with answers of the test's own."""

    def __init__(self, results: list[Any]) -> None:
        self._results = results

    async def describe_acls(self, filter_: Any) -> Any:
        return [each for each in ACLS if filter_ is ANY_BINDING or each.pattern.name == "u"]

    async def create_acls(self, _bindings: Any) -> Any:
        return self._results

    async def delete_acls(self, _filters: Any) -> Any:
        return self._results


def acls(*results: Any) -> LiveAcls:
    return LiveAcls(cast("AdminClient", Client(list(results))))


async def test_what_several_filters_match_is_there_once() -> None:
    """Sorted."""
    assert await acls().find([wanted(name="u"), ANY_BINDING]) == ACLS
    assert await acls().find([ANY_BINDING]) == ACLS


async def test_the_first_refusal_is_told_as_by_java(capsys: pytest.CaptureFixture[str]) -> None:
    """With status 1, and the name of Java's exception."""
    said = f"doorkeeper: Error while executing ACL command: {PACKAGE}.InvalidRequestException: no\n"
    await acls(Created(), Created()).add(ACLS)
    await acls(Deleted(None, (Removed(ACLS[0]),))).remove([ANY_BINDING])
    for refused in (
        acls(Created(), Created(NO)).add(ACLS),
        acls(Deleted(NO)).remove([ANY_BINDING]),
        acls(Deleted(None, (Removed(ACLS[0], NO),))).remove([ANY_BINDING]),
    ):
        with pytest.raises(SystemExit) as ended:
            await refused
        assert ended.value.code == 1
        assert capsys.readouterr().err == said


def test_what_java_has_a_word_for_is_told_in_it() -> None:
    """The rest in ours."""
    assert java_text(ApiFailure(31, "no")) == f"{PACKAGE}.ClusterAuthorizationException: no"
    assert java_text(ApiFailure(999, "no")) == f"{PACKAGE}.ApiException: no"
    assert java_text(NotServed("a", "b")) == f"{PACKAGE}.UnsupportedVersionException: b"
    login = LoginRefused("ours", 58, "theirs")
    assert java_text(login) == f"{PACKAGE}.SaslAuthenticationException: theirs"
    assert java_text(LoginRefused("ours")) == "ours"
    assert java_text(Unreachable("nobody")) == "nobody"


def test_nobody_there_is_told_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """An address that is none alike; a file that is not there by itself."""

    async def never(_acls: object) -> None:
        await _acls.find([ANY_BINDING])  # type: ignore[attr-defined]

    for words, said in (
        (("--bootstrap-server", "127.0.0.1:1"), "127.0.0.1:1: Connection refused"),
        (("--bootstrap-controller", "nonsense"), "found 'nonsense'; an address is host:port"),
        (("--bootstrap-server", "h:1", "--command-config", "/absent"), "/absent"),
    ):
        with pytest.raises(SystemExit):
            run(meant(*words), never)
        found = capsys.readouterr()
        assert said in found.err
        assert (found.out, found.err.count("\n")) == ("", 1)
