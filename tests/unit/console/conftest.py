"""A console over a set of ACLs with names that an attacker would choose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from jinja2 import BytecodeCache, Environment
from jinja2.bccache import Bucket
from starlette.testclient import TestClient

from doorkeeper.console import rendering
from testkit.consoles import ACLS, console_over, sets_at

Start = Callable[..., TestClient]


class CompiledTemplates(BytecodeCache):
    """Templates that an earlier console of this process compiled: nearly all of a test's time."""

    def __init__(self) -> None:
        """Begin with none."""
        self._compiled: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Give a template its code; jinja refuses that of another source."""
        if bucket.key in self._compiled:
            bucket.bytecode_from_string(self._compiled[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of a template."""
        self._compiled[bucket.key] = bucket.bytecode_to_string()


@pytest.fixture(autouse=True, scope="session")
def _compiled_once() -> Iterator[None]:
    """Let all consoles of the session share their compiled templates."""
    compiled = CompiledTemplates()

    def environment() -> Environment:
        templates = rendering.environment()
        templates.bytecode_cache = compiled
        return templates

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("doorkeeper.console.app.environment", environment)
        yield


@pytest.fixture(autouse=True)
def _threads_of_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands on a store not wait a second for the client's threads, as an authorizer's."""
    monkeypatch.setattr("doorkeeper.server.app.authorizer.threads_of_others", list)


@pytest.fixture
def acls(tmp_path: Path) -> Path:
    path = tmp_path / "acls.csv"
    path.write_text(ACLS, encoding="utf-8")
    return path


@pytest.fixture
def start() -> Iterator[Start]:
    """Return a function that starts a console over addresses, and waits until they are read."""
    with ExitStack() as opened:

        def start(*addresses: Path | str) -> TestClient:
            return opened.enter_context(console_over(sets_at(*addresses)))

        yield start


@pytest.fixture
def console(start: Start, acls: Path) -> TestClient:
    return start(acls)
