"""What a run saw is compared with what is there, so that one with nothing new leaves the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest
from click.testing import CliRunner

from doorkeeper_pipeline.cli.commands import pipeline
from doorkeeper_pipeline.jobs import history
from doorkeeper_pipeline.jobs.request import RunRequest
from doorkeeper_pipeline.jobs.seen import unchanged
from doorkeeper_pipeline.tables import contents, delta
from testkit.pipeline_runs import Output, record, restored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HEADER = "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host\n"
LISTING = HEADER + "User:a,TOPIC,LITERAL,t,READ,ALLOW,*\n"


class Site:
    """A log and a listing that were read once."""

    def __init__(self, folder: Path, *lines: str) -> None:
        """Write and read them."""
        self.logs, self.listing = folder / "logs", folder / "acls.csv"
        self.logs.mkdir()
        (self.logs / "a.log").write_text("".join(lines or (record("x"),)))
        self.listing.write_text(LISTING)
        self.out = folder / "out"
        Output(self.out, str(self.logs)).run(acls=(str(self.listing),))

    def is_seen(self, version: str = "1", **options: object) -> bool:
        """Say whether a run would find nothing new."""
        return unchanged(self._request(**options), version) is not None

    def _request(self, **options: object) -> RunRequest:
        given = {"out": self.out, "inputs": (str(self.logs),), "acls": (str(self.listing),)}
        return RunRequest(**{**given, **options})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def read_once(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Return a site that was read."""
    return Site(tmp_path_factory.mktemp("site"))


@pytest.fixture
def site(read_once: Site, tmp_path: Path) -> Iterator[Site]:
    """Return this site, and put back what a test changes in it."""
    with restored(read_once.out.parent, tmp_path / "kept"):
        yield read_once


def test_nothing_is_new(site: Site) -> None:
    """Nor is a listing that was written again with the same ACLs."""
    assert site.is_seen()
    site.listing.write_text(LISTING)

    assert site.is_seen()


def grow(site: Site) -> None:
    """Add a line to the log."""
    with (site.logs / "a.log").open("a") as log:
        log.write(record("y"))


def come(site: Site) -> None:
    """Add a log."""
    (site.logs / "b.log").write_text(record("y"))


def go(site: Site) -> None:
    """Remove the log."""
    (site.logs / "a.log").rename(site.logs / "c.log")


def give(site: Site) -> None:
    """Give another ACL."""
    site.listing.write_text(LISTING + "User:b,TOPIC,LITERAL,t,READ,ALLOW,*\n")


def change(site: Site) -> None:
    """Change a table, as another command does."""
    history.keep(site.out, {"new_access": contents.empty("new_access")})


@pytest.mark.parametrize("happens", [grow, come, go, give, change])
def test_something_is_new(site: Site, happens: Callable[[Site], None]) -> None:
    """Whatever changes of inputs, ACLs and tables is looked at by a run."""
    happens(site)

    assert not site.is_seen()


@pytest.mark.parametrize(
    "options",
    [{"excluded": ("User:x",)}, {"zone": "Asia/Tokyo"}, {"rebuild": True}, {"version": "2"}],
)
def test_another_request(site: Site, options: dict[str, object]) -> None:
    """Other options, or another release, may come to other tables."""
    assert not site.is_seen(**options)  # type: ignore[arg-type]


def test_a_decision_in_the_future(tmp_path: Path) -> None:
    """It counts when its time has come, though nothing else changes until then."""
    assert not Site(tmp_path, record("x", "2026-11-23 07:10:00,000")).is_seen()


def test_the_command_leaves_the_tables(tmp_path: Path) -> None:
    """It says since when, ends as the run before did, and adds no row of a run."""
    (tmp_path / "a.log").write_text(record("t", user="a"))
    (tmp_path / "acls.csv").write_text(LISTING)
    words = ["run", "--log", str(tmp_path / "a.log"), "--tables", str(tmp_path / "out")]
    words += ["--acls", str(tmp_path / "acls.csv"), "--quiet"]
    first = CliRunner().invoke(pipeline, words)

    again = CliRunner().invoke(pipeline, words)

    assert first.exit_code == 4
    assert again.exit_code == 4
    assert again.stdout.startswith("nothing new since the run of 20")
    runs = delta.Tables(tmp_path / "out").read("runs").filter(pl.col("command") == "run")
    assert len(runs) == 1
