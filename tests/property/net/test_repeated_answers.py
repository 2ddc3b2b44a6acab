"""Repeated answers are those of a connection that repeats nothing, whatever changes in between."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from doorkeeper.acls.model import ANY_BINDING, CLUSTER_NAME, Principal, ResourceType
from doorkeeper.base.entry import Entry
from doorkeeper.base.slices import run_to_end
from doorkeeper.server.api import registry
from doorkeeper.server.api.acl_rows import Description
from doorkeeper.server.authorizer.result_checks import CREATION, DELETION
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.config.loading import resolve
from doorkeeper.server.net.limits import Limits
from doorkeeper.server.net.protocol.codec import REPEATED_APIS
from doorkeeper.server.net.protocol.connection import Connection
from doorkeeper.server.net.protocol.exchange import Counts, Peer, Pending
from doorkeeper.server.net.protocol.large_request import LargeRequest
from doorkeeper.server.net.protocol.responses import head_of
from doorkeeper.server.resources.groups import group_of
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import TOPIC, StoredTopic
from doorkeeper.server.state.log import origin_of
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest
from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest
from doorkeeper_wire.messages.describe_groups import DescribeGroupsRequest
from doorkeeper_wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from testkit.acl import (
    DESCRIBE,
    PREFIXED,
    READ,
    WRITE,
    allow,
    deny,
    group,
    request_of,
    topic,
    wanted,
)
from testkit.deliveries import handled
from testkit.edge import request
from testkit.reconfigured import Running, running

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from doorkeeper.server.authorizer.contract import AuthorizerLog
    from doorkeeper.server.security.contract import AuthenticationContext

LISTENER = "PLAINTEXT"
USERS = ("root", "alice", "bob")
TOPICS = ("a", "ab", "b", "c")
GROUPS = ("g", "h")
MANY = tuple(f"n{number}" for number in range(70))
"""Of topics and groups: a thread handles a request with as many."""
LARGE_BYTES = 200
STEPS = 200
TIMEOUT_S = 30
CREATED: dict[str, StoredTopic] = {}
"""Of the running test."""


class Named(NamedTuple):
    """Makes the principal that a test wants."""

    name: str

    def build(self, _context: AuthenticationContext) -> Principal:
        return Principal("User", self.name)


class CountedAuthorizerLog:
    """Writes authorizer log lines to the server's log, and keeps them."""

    def __init__(self, inner: AuthorizerLog) -> None:
        self._inner = inner
        self.threshold = inner.threshold
        self.lines: list[str] = []

    def write(self, level: int, text: str) -> None:
        self.lines.append(text)
        self._inner.write(level, text)


class Pair:
    """Two connections of one client to one server, of which one repeats answers."""

    def __init__(self, server: Running, user: str, host: str) -> None:
        self._server = server
        assembly = server.assembly
        assert assembly.guarded is not None
        self._decisions = assembly.guarded
        self.counts = Counts(), Counts()
        peer = Peer(f"127.0.0.1:9092-{host}:5000-0-1", host, LISTENER, "PLAINTEXT")
        self.connections = tuple(
            Connection(
                peer,
                node=assembly.node,
                apis=registry.apis(),
                mechanisms=None,
                builder=Named(user),
                limits=Limits(),
                counts=counts,
            )
            for counts in self.counts
        )
        for each in self.connections:
            assert each.start() is None

    def ask(self, frame: bytes, audit: CountedAuthorizerLog) -> bytes:
        """Ask both; return the answer, which is the same, as is all that it leaves behind."""
        seen = []
        self.connections[1].repeatable = None
        for connection, counts in zip(self.connections, self.counts, strict=True):
            before = self._decisions.allowed, self._decisions.denied
            audit.lines.clear()
            connection.receive(frame)
            answered = connection.answer_codes
            assert answered is not None
            answered.clear()
            answer: Any = connection.advance(0)
            if isinstance(answer, LargeRequest):
                answer = handled(connection, answer)
            if isinstance(answer, Pending):
                answer = connection.complete(answer, built(answer))
            decided = self._decisions.allowed - before[0], self._decisions.denied - before[1]
            lines = tuple(audit.lines)
            left = (counts.requests, counts.trailing_bytes)
            notes = len(connection.events)
            seen.append((answer, list(answered), decided, lines, left, notes))
        assert seen[0] == seen[1], frame
        answer = seen[0][0]
        assert isinstance(answer, bytes | bytearray)
        return bytes(answer)


def built(pending: Pending) -> bytearray:
    """Return the body of a long description, behind the room for its head."""
    assert isinstance(pending.outcome, Description)
    header = pending.request.header
    head = head_of(header, header.api_version)
    return run_to_end(pending.outcome.chunks(header.api_version, len(head)))


def a_question(chance: random.Random) -> bytes:
    """Return one of few questions, so that they come again."""
    correlation = chance.randrange(1 << 31)
    kind = chance.choice((0, 0, 1, 2, 3, 3))
    if kind == 0:
        names = chance.choice(((), ("a",), ("a", "zz"), TOPICS, MANY, (*TOPICS, *MANY), None))
        topics = None if names is None else tuple(MetadataRequestTopic(name=n) for n in names)
        asked: Any = MetadataRequest(
            topics=topics,
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=chance.random() < 0.5,
        )
        return request(asked, chance.choice((9, 12)), correlation)
    if kind == 1:
        asked = DescribeGroupsRequest(
            groups=chance.choice((GROUPS, (*GROUPS, *MANY))),
            include_authorized_operations=chance.random() < 0.5,
        )
        return request(asked, chance.choice((5, 6)), correlation)
    if kind == 2:
        asked = ApiVersionsRequest(
            client_software_name=chance.choice(("one", "two")), client_software_version="1.0"
        )
        return request(asked, 3, correlation)
    asked = DescribeAclsRequest(
        resource_type_filter=chance.choice((1, 2)),
        resource_name_filter=chance.choice((None, "a", "ab")),
        pattern_type_filter=chance.choice((1, 2, 3)),
        principal_filter=chance.choice((None, None, "User:alice")),
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    return request(asked, chance.choice((1, 3)), correlation, chance.choice(("t", "u")))


async def _create_acls(chance: random.Random, server: Running) -> None:
    pattern = chance.choice(
        (
            topic(chance.choice(TOPICS)),
            topic("a", PREFIXED),
            topic("*"),
            group(chance.choice(GROUPS)),
            topic("a")._replace(resource_type=ResourceType.CLUSTER, name=CLUSTER_NAME),
        )
    )
    how = allow if chance.random() < 0.8 else deny
    host = chance.choice(("*", "10.0.0.1"))
    binding = how(chance.choice(USERS), chance.choice((READ, WRITE, DESCRIBE)), pattern, host)
    assert server.assembly.guarded is not None
    await server.assembly.guarded.change(CREATION, None, [binding], TIMEOUT_S)


async def _delete_acls(chance: random.Random, server: Running) -> None:
    assert server.assembly.guarded is not None
    known = server.assembly.guarded.acls(ANY_BINDING)
    if not known:
        return
    (kind, name, pattern_type), entry = chance.choice(known)
    filters = [wanted(kind, name, pattern_type, principal=entry.principal)]
    await server.assembly.guarded.change(DELETION, None, filters, TIMEOUT_S)


async def _change_topics(chance: random.Random, server: Running) -> None:
    name = chance.choice(TOPICS)
    new = StoredTopic(name, chance.randbytes(16), chance.randrange(1, 4), 1, {})
    known = CREATED.pop(name, None)
    if known is None:
        CREATED[name] = new
    change = edit(TOPIC, set=[new]) if known is None else edit(TOPIC, deleted=[known])
    await server.assembly.log.submit(lambda _: (change, None), origin_of(request_of("root")))


async def _change_groups(chance: random.Random, server: Running) -> None:
    names = [name for name in GROUPS if chance.random() < 0.5]
    server.assembly.log.amend(live_groups={name: group_of(name) for name in names})


async def _change_configuration(chance: random.Random, server: Running) -> None:
    key, value = chance.choice(
        (
            ("super.users", "User:root"),
            ("super.users", "User:root;User:alice"),
            ("allow.everyone.if.no.acl.found", "true"),
            ("allow.everyone.if.no.acl.found", "false"),
            ("doorkeeper.log.levels", "kafka.authorizer.logger=DEBUG"),
            ("doorkeeper.log.levels", "kafka.authorizer.logger=INFO"),
            ("doorkeeper.log.levels", "kafka.authorizer.logger=WARN"),
        )
    )
    reconfiguring = server.assembly.reconfiguration
    entries = [each for each in reconfiguring.settings.static if each.key != key]
    if value:
        entries.append(Entry(key, value, "the test's"))
    usable = await reconfiguring.check(resolve(entries, reconfiguring.settings.dynamic))
    reconfiguring.use(usable)


CHANGES: tuple[Callable[[random.Random, Running], Awaitable[None]], ...] = (
    _create_acls,
    _create_acls,
    _delete_acls,
    _change_topics,
    _change_groups,
    _change_configuration,
)


@pytest.mark.parametrize("seed", range(4))
async def test_repeated_response_equals_a_new_one(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    CREATED.clear()
    repeated, large = 0, 0
    async with running(tmp_path, "super.users=User:root\n") as server:
        authorizer = server.assembly.authorizer
        assert isinstance(authorizer, StandardAuthorizer)
        log = CountedAuthorizerLog(server.log.logs.authorizer_log)
        authorizer.authorizer_log = log
        clients = [(user, host) for user in USERS for host in ("10.0.0.1", "10.0.0.2")]
        pairs = [Pair(server, *client) for client in clients]
        questions = [a_question(chance) for _ in range(3)]
        for _ in range(STEPS):
            questions[chance.randrange(3)] = a_question(chance)
            for pair in chance.choices(pairs, k=6):
                frame = chance.choice(questions)
                for _ in range(chance.randrange(1, 3)):
                    known = pair.connections[0].repeatable
                    pair.ask(frame, log)
                    if known is not None and known is pair.connections[0].repeatable:
                        repeated += 1
                        large += len(known.request) > LARGE_BYTES
            if chance.random() < 0.4:
                await chance.choice(CHANGES)(chance, server)
    assert repeated > 20
    assert large > 2


def test_all_repeated_apis_are_covered() -> None:
    assert set(REPEATED_APIS) == {3, 15, 18}
