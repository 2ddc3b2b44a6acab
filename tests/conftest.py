"""Settings for all tests, and an honest last word on what a run left out."""

from __future__ import annotations

import gc
import os
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import structlog
from hypothesis import HealthCheck, settings

from testkit.load import scaled
from testkit.oracle_totals import TOTALS, Totals
from testkit.postgres import Database, Postgres

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from xdist.workermanage import WorkerController

# Two cores shared with servers and browsers of others: a deadline would measure them, not us.
settings.register_profile(
    "doorkeeper",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    # CI must say the same of the same commit; elsewhere each run looks at other cases.
    derandomize=os.environ.get("CI") == "true",
)
settings.load_profile("doorkeeper")

# Without this structlog colours each traceback that a test logs, which takes seconds.
structlog.configure(
    processors=[structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
)

REASONS = {
    "interop": "needs real Kafka or foreign clients: make interop, make test-all",
    "slow": "takes long: make test-all",
}
_left_out: Counter[tuple[str, str]] = Counter()

TEST_S = 120
"""The time-out of a test on an idle machine."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are collected: nearly all that is made then stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Keep the collector from what stays: modules and thousands of tests are millions of objects.

    Each full collection of the run would visit them.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def young_heap() -> None:
    """Let ``gc.collect`` look at the test's own objects alone: all of a worker take seconds."""
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the sizes of the longest tests: of clusters under fire, and of Spark."""
    parser.addoption("--cluster-rounds", type=int, default=50, help="rounds of faults")
    parser.addoption("--cluster-acls", type=int, default=100_000, help="ACLs on each cluster")
    parser.addoption("--spark-kills", type=int, default=20, help="kills of each part of Spark")
    parser.addoption("--pipeline-seeds", default="1-100", help="seeds of the worlds of Spark")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Scale the time-out of the test with the load of the machine at its start."""
    marker = item.get_closest_marker("timeout")
    seconds = float(marker.args[0]) if marker is not None and marker.args else TEST_S
    item.add_marker(pytest.mark.timeout(scaled(seconds)), append=False)


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Remember what was deselected because of a marker."""
    for item in items:
        for marker, reason in REASONS.items():
            if item.get_closest_marker(marker) is not None:
                _left_out[item.location[0], reason] += 1
                break


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In a process of pytest-xdist: send what this process counted to the one that prints."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        totals = session.config.stash.setdefault(TOTALS, Totals())
        output["left_out"] = [[*key, count] for key, count in _left_out.items()]
        output["totals"] = [dict(totals.compared), dict(totals.accepted)]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: WorkerController) -> None:
    """Take the counts of a process of pytest-xdist. All of them deselected the same tests."""
    output = getattr(node, "workeroutput", {})  # a process that crashed has sent nothing
    for path, reason, count in output.get("left_out", ()):
        _left_out[path, reason] = count
    compared, accepted = output.get("totals", ({}, {}))
    if compared or accepted:
        totals = node.config.stash.setdefault(TOTALS, Totals())
        totals.compared.update(compared)
        totals.accepted.update(accepted)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what was compared with Kafka, and each file of which tests were left out, and why."""
    path = os.environ.get("DOORKEEPER_TEST_TIMES")
    if path and not hasattr(terminalreporter.config, "workerinput"):
        write_times(terminalreporter, Path(path))
    totals = terminalreporter.config.stash.get(TOTALS, None)
    if totals is not None:
        terminalreporter.section("compared with Kafka")
        for line in totals.lines():
            terminalreporter.write_line(line)
    if not _left_out:
        return
    terminalreporter.section("not run here")
    for (path, reason), count in sorted(_left_out.items()):
        terminalreporter.write_line(f"{path}: {count} ({reason})")


def write_times(reporter: pytest.TerminalReporter, path: Path) -> None:
    """Append a line for each test: its seconds, with set-up and tear-down, and its name."""
    seconds: dict[str, float] = defaultdict(float)
    for reports in reporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[report.nodeid] += report.duration
    with path.open("a", encoding="utf-8") as file:
        file.writelines(f"{time:8.2f} {name}\n" for name, time in seconds.items())


@pytest.fixture(scope="session")
def totals(pytestconfig: pytest.Config) -> Totals:
    """Give the totals of this run."""
    return pytestconfig.stash.setdefault(TOTALS, Totals())


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    """Give a real PostgreSQL that trusts everyone, one for the run; nobody may stop it."""
    with Postgres.made_or_skipped() as server:
        yield server


@pytest.fixture
def database(postgres_server: Postgres) -> Iterator[Database]:
    """Give an empty database of the test's own."""
    made = postgres_server.create_database()
    yield made
    made.drop()
