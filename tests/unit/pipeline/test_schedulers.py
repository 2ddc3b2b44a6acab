"""The example for schedulers calls commands that exist, and knows their exit statuses."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper_pipeline.cli.commands import pipeline
from testkit.checkout import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.fixture
def nightly(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the module that the examples for Airflow and Dagster call."""
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "pipeline"))
    monkeypatch.delitem(sys.modules, "nightly", raising=False)
    return import_module("nightly")


def site(nightly: Any) -> Any:
    return nightly.Site("c", "logs/*", "acls.txt", "folder", ("User:a",))


def test_commands_have_the_used_options(nightly: Any) -> None:
    """Click parses both commands."""
    for command in (site(nightly).run_command(), site(nightly).report_command()):
        program, name, *options = command
        parsed = pipeline.make_context(program, [name], resilient_parsing=True)
        subcommand = pipeline.get_command(parsed, name)

        assert subcommand is not None
        subcommand.make_parser(parsed).parse_args(options)


@pytest.mark.parametrize(("status", "belongs_together"), [(0, True), (4, False)])
def test_status_4_has_tables(
    nightly: Any, monkeypatch: pytest.MonkeyPatch, status: int, *, belongs_together: bool
) -> None:
    """Status 4 has tables too: log and ACLs contradict each other."""
    monkeypatch.setattr(nightly, "call", lambda _: (status, ""))

    assert nightly.run(site(nightly)) is belongs_together


@pytest.mark.parametrize(("status", "again"), [(2, False), (5, False), (3, True)])
def test_retriable_failures(
    nightly: Any, monkeypatch: pytest.MonkeyPatch, status: int, *, again: bool
) -> None:
    def call(_: Sequence[str]) -> tuple[int, str]:
        return status, "the reason"

    monkeypatch.setattr(nightly, "call", call)

    with pytest.raises(nightly.NightFailedError, match="the reason") as raised:
        nightly.run(site(nightly))
    assert raised.value.again is again
