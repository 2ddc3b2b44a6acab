"""A console over a set of ACLs with names that an attacker would choose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from testkit.consoles import ACLS, console_over, sets_at

Start = Callable[..., TestClient]


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
