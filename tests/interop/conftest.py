"""What the interop suites share: Kafka's tools, the server under test and its ACLs.

A real part that this machine lacks skips what needs it, with the reason; under CI=true it fails.
"""

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from testkit.kafka_acl_rows import Acls
from testkit.kafka_jars import BROKERS, VERSIONS, Unavailable, cannot, jars
from testkit.kafka_target import Target, doorkeeper_target, kafka_target
from testkit.kafka_tools import KafkaTools
from testkit.oracle_totals import Totals
from testkit.pairs import Pair
from testkit.postgres import Postgres
from testkit.side_by_side import FORGETFUL

REFERENCE = VERSIONS[0]

KAFKA_IS_TARGET = os.environ.get("DOORKEEPER_INTEROP_TARGET", "doorkeeper") == "kafka"

FIRST_RUN_S = 900
"""The first test that needs a real part may have to fetch it."""

QUICK = (
    "admin/test_client.py",
    "admin/test_first_session.py",
    "admin/test_foreign_clients.py",
    "admin/test_same_kafka_acls.py",
    "applications/test_java_clients.py",
    "applications/test_shelf.py",
    "brokers/test_config_rules.py",
    "brokers/test_same_random_requests.py",
    "clusters/test_cluster_is_kept.py",
    "logins/test_whoami.py",
    "pages/test_console_answers.py",
    "pipeline/test_pipeline_evaluation.py",
)
"""What ``make interop`` runs: a broker, a cluster, Kafka's tools and clients, Spark, the console.

It takes at most 12 minutes. All other files of this folder are slow. Their folders are parts of
``make test-all``.
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder; each file is a group.

    A group runs in one process of pytest-xdist, so that its broker is started once.
    """
    here = Path(__file__).parent
    for item in items:
        if here not in item.path.parents:
            continue
        name = item.path.relative_to(here).as_posix()
        item.add_marker(pytest.mark.interop)
        item.add_marker(pytest.mark.timeout(FIRST_RUN_S))
        if name not in QUICK:
            item.add_marker(pytest.mark.slow)
        item.add_marker(pytest.mark.xdist_group(name))


@pytest.fixture(scope="session")
def kafka_tools() -> Iterator[Callable[[str], KafkaTools]]:
    """Give the tools of a release; all commands of a release share one JVM."""
    opened: list[KafkaTools] = []

    @cache
    def tools(version: str) -> KafkaTools:
        try:
            opened.append(KafkaTools(jars(version)))
        except Unavailable as missing:
            cannot(str(missing))
        return opened[-1]

    yield tools
    for each in opened:
        each.close()


@pytest.fixture(scope="session", params=VERSIONS)
def tools(request: pytest.FixtureRequest, kafka_tools: Callable[[str], KafkaTools]) -> KafkaTools:
    """Each release's tools in turn."""
    return kafka_tools(request.param)


@pytest.fixture(scope="session")
def start_target() -> Callable[..., Target]:
    """Start a server of the kind under test, with keys of the caller's own; it must be closed."""

    def start(version: str = REFERENCE, **overrides: str) -> Target:
        if not KAFKA_IS_TARGET:
            return doorkeeper_target(version, **overrides)
        try:
            return kafka_target(version, **overrides)
        except Unavailable as missing:
            cannot(str(missing))

    return start


@pytest.fixture(scope="session")
def target(
    request: pytest.FixtureRequest,
    start_target: Callable[..., Target],
    kafka_tools: Callable[[str], KafkaTools],
) -> Iterator[Target]:
    """Give the server under test, one for the whole run; a parameter is the release to follow.

    It knows the topic "orders" and the group "payments" with one member.
    """
    own = {} if KAFKA_IS_TARGET else {"doorkeeper_test_broker": "true"}
    running = start_target(getattr(request, "param", REFERENCE), **own)
    try:
        tools, config = kafka_tools(REFERENCE), running.config()
        tools.call("createTopic", config, name="orders", partitions=2)
        member = {**config, "client.id": "orders-reader", "group.instance.id": "reader-1"}
        assert tools.call("joinGroup", member, group="payments", topics=["orders"])
        yield running
        tools.call("leaveGroup", {}, group="payments")
    finally:
        running.close()


@pytest.fixture(scope="session", params=BROKERS)
def pair(request: pytest.FixtureRequest, totals: Totals) -> Iterator[Pair]:
    """Give a real broker of each release in turn, and a Doorkeeper with the same configuration."""
    try:
        running = Pair.start(totals, request.param, **FORGETFUL)
    except Unavailable as missing:
        cannot(str(missing))
    yield running
    running.close()


@pytest.fixture
def acls(kafka_tools: Callable[[str], KafkaTools], target: Target) -> Acls:
    """Give the target's ACLs, of which there are none when a test begins."""
    found = Acls(kafka_tools(REFERENCE), target)
    found.clear()
    return found


@pytest.fixture
def mortal_server() -> Iterator[Postgres]:
    """Give a server of PostgreSQL that the test stops and starts."""
    try:
        server = Postgres()
    except Unavailable as missing:
        cannot(str(missing))
    with server:
        yield server
