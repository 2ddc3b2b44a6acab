"""Where Kafka's documents and Kafka's released code differ, the code is asked: two brokers, and us.

docs/reference/compatibility.md lists these cases by the names of the tests. Where a test builds its
bytes by hand, they are the evidence: no codec of ours stands between.
"""

import struct
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.delete_acls import (
    DeleteAclsResponse,
)
from doorkeeper_wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from doorkeeper_wire.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from doorkeeper_wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from doorkeeper_wire.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from testkit.frame_steps import (
    ALTER,
    CLUSTER,
    DELETE,
    DESCRIBE,
    GROUP,
    LITERAL,
    PREFIXED,
    READ,
    TOPIC,
    create,
    creation,
    delete,
    delete_filter,
    describe,
)
from testkit.frames import Closed, FrameClient
from testkit.kafka_target import USERS, Target, doorkeeper_target, kafka_target
from testkit.or_skip import or_skip

SERVERS = ("4.3.1", "3.9.1", "doorkeeper")
BROKERS = ("4.3.1", "3.9.1")

ANY, ALLOW, CLUSTER_ACTION, TWO_PHASE_COMMIT = 1, 3, 9, 15
DESCRIBE_ACLS, CREATE_ACLS, ELECT_LEADERS, CONSUMER_GROUP_DESCRIBE = 29, 30, 43, 69

REACHED_S = 60
"""How long a broker on a busy machine may take to get where a test needs it."""

Start = Callable[..., Target]


@pytest.fixture(scope="module")
def start() -> Iterator[Start]:
    """Give a server by its name, one for all tests that want the same."""
    running: list[Target] = []

    @cache
    def started(name: str, **overrides: str) -> Target:
        target = or_skip(
            lambda: (
                doorkeeper_target(**overrides)
                if name == "doorkeeper"
                else kafka_target(name, **overrides)
            )
        )
        running.append(target)
        return target

    yield started
    for target in running:
        target.close()


class Caller:
    """A super user and alice, who has what a test gives her; nothing is left of the last test."""

    def __init__(self, target: Target) -> None:
        self.root = FrameClient(target.plain)
        self.alice = FrameClient(target.sasl)
        self.alice.login("alice", USERS["alice"])
        self.root.ask(delete(delete_filter()).request, DeleteAclsResponse, 1)
        until(lambda: not self.acls())

    def acls(self) -> list[tuple[int, str, int, str, int]]:
        """Return type, name, pattern, principal and operation of all ACLs."""
        answer = self.root.ask(describe().request, DescribeAclsResponse, 1)
        return sorted(
            (row.resource_type, row.resource_name, row.pattern_type, acl.principal, acl.operation)
            for row in answer.resources
            for acl in row.acls
        )

    def grant(self, resource_type: int, name: str, operation: int, pattern: int = LITERAL) -> None:
        """Allow alice an operation, and wait until it is in force."""
        row = creation(
            resource_type=resource_type,
            resource_name=name,
            resource_pattern_type=pattern,
            operation=operation,
        )
        answer = self.root.ask(create(row).request, CreateAclsResponse, 1)
        assert [each.error_code for each in answer.results] == [0]
        until(lambda: (resource_type, name, pattern, "User:alice", operation) in self.acls())

    def close(self) -> None:
        """End both connections."""
        self.root.close()
        self.alice.close()


def until(reached: Callable[[], bool]) -> None:
    """Return when something is so."""
    deadline = time.monotonic() + REACHED_S
    while not reached():
        assert time.monotonic() < deadline, "it does not come about"


@pytest.fixture
def caller(request: pytest.FixtureRequest, start: Start) -> Iterator[Caller]:
    """Give the callers of the server that the test names."""
    found = Caller(start(request.param))
    yield found
    found.close()


def on(*names: str) -> pytest.MarkDecorator:
    """Run a test on these servers."""
    return pytest.mark.parametrize("caller", names, indirect=True)


def string(text: str) -> bytes:
    """Return a string as versions that are not flexible write it."""
    return struct.pack(">h", len(text)) + text.encode()


VERSION_0_CREATION = (
    struct.pack(">ib", 1, TOPIC) + string("orders") + string("User:alice") + string("*")
) + struct.pack(">bb", READ, ALLOW)
VERSION_0_OPEN_FILTER = struct.pack(">bhhhbb", ANY, -1, -1, -1, ANY, ANY)
"""Type, name, principal, host, operation, permission: the resource first."""


@on("3.9.1", "doorkeeper")
def test_fields_of_version_0(caller: Caller) -> None:
    """The resource stands before the principal in version 0 of the ACL APIs."""
    created = caller.root.exchange(CREATE_ACLS, 0, VERSION_0_CREATION)
    until(lambda: bool(caller.acls()))
    described = caller.root.exchange(DESCRIBE_ACLS, 0, VERSION_0_OPEN_FILTER)

    assert isinstance(created, bytes)
    # Behind the correlation id: throttle time, one row, code 0.
    assert created[4:14] == struct.pack(">iih", 0, 1, 0)
    assert caller.acls() == [(TOPIC, "orders", LITERAL, "User:alice", READ)]
    row = struct.pack(">ib", 1, TOPIC) + string("orders")
    entry = struct.pack(">i", 1) + string("User:alice") + string("*")
    assert isinstance(described, bytes)
    assert described[12:].startswith(row + entry + struct.pack(">bb", READ, ALLOW))


@on("4.3.1")
def test_version_0_is_removed(caller: Caller) -> None:
    """Kafka 4 closes the connection of a client that still sends it."""
    assert caller.root.exchange(CREATE_ACLS, 0, VERSION_0_CREATION) == Closed()


@on("3.9.1", "doorkeeper")
def test_filters_of_version_0(caller: Caller) -> None:
    """A filter without a pattern type means LITERAL, not ANY: prefixed ACLs are neither seen."""
    caller.grant(TOPIC, "literal", READ)
    caller.grant(TOPIC, "prefix", READ, PREFIXED)
    described = caller.root.exchange(DESCRIBE_ACLS, 0, VERSION_0_OPEN_FILTER)
    one = struct.pack(">i", 1)
    caller.root.exchange(31, 0, one + VERSION_0_OPEN_FILTER)

    assert isinstance(described, bytes)
    assert b"literal" in described
    assert b"prefix" not in described
    prefixed = [(TOPIC, "prefix", PREFIXED, "User:alice", READ)]
    until(lambda: caller.acls() == prefixed)


@pytest.mark.parametrize("name", SERVERS)
def test_security_disabled(start: Start, name: str) -> None:
    """Without an authorizer the code is 54; KIP-140 announced 53."""
    # Kafka has no authorizer where the key is empty, as have we.
    target = start(name, authorizer_class_name="")
    with FrameClient(target.plain) as client:
        described = client.ask(describe().request, DescribeAclsResponse, 1)

    assert described.error_code == 54
    assert described.error_message == "No Authorizer is configured on the broker"


@pytest.mark.parametrize(
    "field", ["resource_type_filter", "pattern_type_filter", "operation", "permission_type"]
)
@on(*SERVERS)
def test_unknown_elements_of_filters(caller: Caller, field: str) -> None:
    """Code 0 closes the connection; a code that nobody knows matches nothing, or is refused."""
    filters: list[dict[str, Any]] = [{field: 99}, {field: 0}]
    odd, zero = (describe(**each).request for each in filters)
    caller.grant(TOPIC, "orders", READ)

    described = caller.root.ask(odd, DescribeAclsResponse, 1)
    deleted = caller.root.ask(delete(delete_filter(**{field: 99})).request, DeleteAclsResponse, 1)
    closed = caller.alice.ask(zero, DescribeAclsResponse, 1)

    assert (described.error_code, described.resources) == (0, ())
    assert [row.error_code for row in deleted.filter_results] == [42]
    assert closed == Closed()


ELECT_PREFERRED = b"\x00" + b"\x01" + struct.pack(">i", 1000) + b"\x00"
"""ElectLeaders 2: the preferred leaders, of no topic, in a second."""


@on(*BROKERS)
def test_elect_leaders(caller: Caller) -> None:
    """ElectLeaders asks for ALTER; the documentation says CLUSTER_ACTION."""

    def code() -> int:
        answer = caller.alice.exchange(ELECT_LEADERS, 2, ELECT_PREFERRED)
        assert isinstance(answer, bytes)
        # Correlation id, no tags, throttle time, code.
        found: int = struct.unpack_from(">h", answer, 9)[0]
        return found

    caller.grant(CLUSTER, "kafka-cluster", CLUSTER_ACTION)
    assert code() == 31
    caller.grant(CLUSTER, "kafka-cluster", ALTER)
    assert code() == 0


@on("4.3.1")
def test_consumer_group_describe(caller: Caller) -> None:
    """ConsumerGroupDescribe asks for DESCRIBE on the group; the documentation says READ."""

    def code() -> int:
        answer = caller.alice.exchange(CONSUMER_GROUP_DESCRIBE, 0, b"\x02\x02g\x00\x00")
        assert isinstance(answer, bytes)
        # Correlation id, no tags, throttle time, one group, code.
        found: int = struct.unpack_from(">h", answer, 10)[0]
        return found

    assert code() == 30
    caller.grant(GROUP, "g", DESCRIBE)
    assert code() != 30


@on(*SERVERS)
def test_describe_cluster(caller: Caller) -> None:
    """DescribeCluster answers anybody; the documentation says DESCRIBE on the cluster."""
    answer = caller.alice.ask(DescribeClusterRequest(), DescribeClusterResponse, 0)

    assert answer.error_code == 0
    assert len(answer.brokers) == 1


@on(*SERVERS)
def test_delete_topics(caller: Caller) -> None:
    """DELETE on the cluster deletes any topic; the documentation knows DELETE on the topic only."""

    def code() -> int:
        request = DeleteTopicsRequest(topic_names=("absent",), timeout_ms=10000)
        (row,) = caller.alice.ask(request, DeleteTopicsResponse, 4).responses
        found: int = row.error_code
        return found

    assert code() == 29
    caller.grant(CLUSTER, "kafka-cluster", DELETE)
    assert code() == 3


@pytest.mark.parametrize(
    ("caller", "ending"),
    [
        ("4.3.1", " needs DESCRIBE permission."),
        ("3.9.1", " is not authorized."),
        ("doorkeeper", " needs DESCRIBE permission."),
    ],
    indirect=["caller"],
)
def test_authorization_error_text(caller: Caller, ending: str) -> None:
    """Since Kafka 4.1 a refusal names the operation that is needed."""
    answer = caller.alice.ask(describe().request, DescribeAclsResponse, 1)

    assert answer.error_code == 31
    assert answer.error_message.endswith(ending)


@pytest.mark.parametrize(
    ("caller", "code"), [("4.3.1", 0), ("3.9.1", 42), ("doorkeeper", 0)], indirect=["caller"]
)
def test_two_phase_commit(caller: Caller, code: int) -> None:
    """TWO_PHASE_COMMIT is an operation since Kafka 4.1; before, an ACL with it is refused."""
    row = creation(resource_type=5, resource_name="t", operation=TWO_PHASE_COMMIT)
    answer = caller.root.ask(create(row).request, CreateAclsResponse, 1)
    assert [each.error_code for each in answer.results] == [code]


@pytest.mark.parametrize(
    ("caller", "mask"),
    [("4.3.1", 3400), ("3.9.1", 328), ("doorkeeper", 3400)],
    indirect=["caller"],
)
def test_operations_of_a_group(caller: Caller, mask: int) -> None:
    """Since Kafka 4.0 groups have configurations, so also the operations on those."""
    wanted = FindCoordinatorRequest(key="none")
    until(lambda: caller.root.ask(wanted, FindCoordinatorResponse, 2).error_code == 0)
    request = DescribeGroupsRequest(groups=("none",), include_authorized_operations=True)

    def group() -> Any:
        (found,) = caller.root.ask(request, DescribeGroupsResponse, 5).groups
        return found

    until(lambda: group().error_code == 0)

    assert group().group_state == "Dead"
    assert group().authorized_operations == mask
