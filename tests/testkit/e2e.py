"""What end-to-end tests share: commands in processes of their own, and frequent requests."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import chdir
from typing import TYPE_CHECKING

from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper as main
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from doorkeeper_wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from testkit.frame_steps import describe
from testkit.load import scaled
from testkit.serving import Serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from testkit.serving import Conversation

STANDARD = "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
EVERYTHING = describe().request
COMMAND_S = 60
PATIENCE_S = 30


def doorkeeper(
    folder: Path, *words: str, typed: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run ``doorkeeper`` in a folder, with a text on its standard input."""
    return subprocess.run(
        [sys.executable, "-m", "doorkeeper", *words],
        cwd=folder,
        env=os.environ | environment,
        input=typed,
        capture_output=True,
        text=True,
        timeout=scaled(COMMAND_S),
        check=False,
    )


def command(folder: Path, *words: str, typed: str = "") -> tuple[int, str, str]:
    """Run ``doorkeeper`` in this process, which is quicker.

    Returns:
        The exit status, and what it wrote on stdout and stderr.
    """
    with chdir(folder):
        done = CliRunner().invoke(main, words, input=typed)
    return done.exit_code, done.stdout, done.stderr


def acls(folder: Path, *words: str) -> tuple[int, str, str]:
    """Run ``doorkeeper acls`` as ``command`` does."""
    return command(folder, "acls", *words)


def serving(folder: Path, *settings: str, python_path: str | Path = ".") -> Serving:
    """Start a server with these settings, which finds plug-ins in ``python_path``."""
    if not any(setting.startswith("listeners=") for setting in settings):
        settings = ("listeners=PLAINTEXT://localhost:0", *settings)
    words = [word for setting in settings for word in ("--override", setting)]
    return Serving(folder, *words, environment={"PYTHONPATH": str(python_path)})


def configured(folder: Path, text: str) -> Serving:
    """Start a server with this ``server.properties``."""
    (folder / "server.properties").write_text(text, encoding="utf-8")
    return Serving(folder, "--config", "server.properties")


def refusal(server: Serving) -> str:
    """Wait until a server that must not start has ended; return its only line on stderr."""
    with server:
        assert server.process.wait(scaled(PATIENCE_S)) == 1
        (line,) = server.errors().splitlines()
    assert line.startswith("doorkeeper: ")
    return line


def ended_well(server: Serving) -> None:
    """Stop a server: status 0, no thread of a plug-in left, nothing on stderr."""
    assert server.stop() == 0
    assert not server.of("threads of the authorizer are still running")
    assert server.errors() == ""


def until(true: Callable[[], bool]) -> None:
    """Wait until something is true."""
    deadline_s = time.monotonic() + scaled(PATIENCE_S)
    while not true():
        assert time.monotonic() < deadline_s, "it did not happen"
        time.sleep(0.02)


def topic_code(conversation: Conversation, name: str = "orders") -> int:
    """Return the code of Metadata for a topic: 29 refused, 3 allowed but unknown."""
    answer = conversation.call(topic_request(name), MetadataResponse, 12)
    code: int = answer.topics[0].error_code
    return code


def topic_request(name: str) -> MetadataRequest:
    return MetadataRequest(
        topics=(MetadataRequestTopic(name=name),), allow_auto_topic_creation=False
    )


def principals_of(conversation: Conversation) -> set[str]:
    """Return the principals of all ACLs."""
    answer = conversation.call(EVERYTHING, DescribeAclsResponse, 3)
    return {acl.principal for resource in answer.resources for acl in resource.acls}
