"""The measurements that go through sockets, one function for each part of the table."""

from __future__ import annotations

import time
from itertools import count
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper_wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from doorkeeper_wire.messages.create_topics import CreateTopicsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from doorkeeper_wire.messages.describe_groups import DescribeGroupsResponse
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateResponse
from testkit.scram import ScramClient, salted_password
from versus import frames, worlds
from versus.calls import ONE, everything, small
from versus.loadgen import Load, Running, run
from versus.targets import MECHANISM, PASSWORD, Caller, settled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from doorkeeper.acls.model import AclBinding
    from versus.calls import Call, Shape
    from versus.loadgen import Result
    from versus.table import Table
    from versus.targets import Target

SALT = b"0123456789abcdef"
ITERATIONS = 4096
PACE_US = 1_000
"""How often the small request is due whose patience is tried."""
WAITING_MAX = 1_024
"""So many may wait: one that has to wait keeps none of those behind it from being sent."""


REST_S = 0.5
"""So long a server may be busy with what nobody waits for any more, while the next has its turn."""


class Effort(NamedTuple):
    """How much is measured: seconds for each number, rounds, and numbers of changes."""

    warm_s: float
    time_s: float
    rounds: int
    changes_s: float
    beside_s: float
    logins: int
    starts: int


FULL = Effort(0.1, 0.3, 3, 1.2, 4.0, 100, 3)
QUICK = Effort(0.1, 0.25, 1, 0.5, 0.5, 20, 1)


# --- what both have before anything is measured


def prepare(target: Target) -> None:
    """Make the topics, the user of SCRAM and the rights of who asks; find a coordinator."""
    caller = Caller(target.plain_port)
    for request in frames.create_topics():
        answer = frames.decoded(CreateTopicsResponse, caller.ask(request))
        assert all(each.error_code == 0 for each in answer.topics), answer
    salted = salted_password(MECHANISM, PASSWORD, SALT, ITERATIONS)
    upsertion = ScramCredentialUpsertion(
        name=worlds.BENCH_USER,
        mechanism=1,
        iterations=ITERATIONS,
        salt=SALT,
        salted_password=salted,
    )
    caller.ask(frames.frame(AlterUserScramCredentialsRequest(upsertions=(upsertion,))))
    rights = list(worlds.bench_rights())
    for request in frames.create(rights):
        caller.ask(request)
    caller.ask(frames.coordinator())
    caller.close()
    settled(
        target,
        frames.groups(),
        DescribeGroupsResponse,
        lambda answer: all(each.error_code == 0 for each in answer.groups),
    )
    holds(target, len(rights))


def holds(target: Target, acls: int) -> None:
    """Wait until all ACLs are visible: a broker shows changes a little after their answers."""
    settled(
        target,
        frames.describe(),
        DescribeAclsResponse,
        lambda answer: sum(len(each.acls) for each in answer.resources) == acls,
    )


def warmed(target: Target, calls: Sequence[Call], seconds: float) -> None:
    """Let a server answer everything for a while."""
    for call in calls:
        for shape in call.shapes:
            share = seconds / sum(len(each.shapes) for each in calls)
            run(call.port(target), call.load(shape, warm_s=0, time_s=share))


# --- reads


def compare_answers(targets: Sequence[Target], calls: Sequence[Call]) -> None:
    """Ask all of them everything once.

    Raises:
        RuntimeError: their answers do not mean the same.

    """
    for call in calls:
        found = [call.meanings(target) for target in targets]
        if any(each != found[0] for each in found):
            raise RuntimeError(f"{call.name}: the answers do not mean the same")


def measure_reads(
    table: Table, targets: Sequence[Target], calls: Sequence[Call], acls: int, effort: Effort
) -> None:
    """Measure all calls in all shapes, the servers in turn."""
    for call in calls:
        for shape in call.shapes:
            for _ in range(effort.rounds):
                for target in targets:
                    load = call.load(shape, warm_s=effort.warm_s, time_s=effort.time_s)
                    result = run(call.port(target), load)
                    _note(table, call, shape, acls, target, result)
                    if result.left:
                        time.sleep(REST_S)


def _note(
    table: Table, call: Call, shape: Shape, acls: int, target: Target, result: Result
) -> None:
    if shape is ONE:
        row = table.row(call.name, str(shape), acls, "us", more=False)
        row.add(target.name, result.p50_us)
    else:
        row = table.row(call.name, str(shape), acls, "/s", more=True)
        row.add(target.name, result.rate)


def measure_after_changes(
    table: Table, targets: Sequence[Target], calls: Sequence[Call], acls: int, effort: Effort
) -> None:
    """Measure descriptions, each behind a change: nothing that was answered is true any more."""
    described = [call for call in calls if call.name.startswith("DescribeAcls")]
    for target in targets:
        caller = Caller(target.plain_port)
        took: dict[str, list[float]] = {call.name: [] for call in described}
        added = list(frames.extra(1, 3 + max(20, 4 * effort.rounds), "described"))
        for number, request in enumerate(frames.create(added, 1)):
            caller.ask(request)
            for call in described:
                asked = call.requests[number % len(call.requests)]
                begun = time.perf_counter()
                caller.ask(asked)
                took[call.name].append((time.perf_counter() - begun) * 1e6)
        caller.ask(frames.delete(principal=added[0].entry.principal))
        caller.close()
        for name, times in took.items():
            row = table.row(name, "after each change", acls, "us", more=False)
            row.add(target.name, median(times[3:]))


# --- changes

_MARKS = count()


def measure_changes(
    table: Table, targets: Sequence[Target], acls: int, effort: Effort, *, bulk: bool = True
) -> None:
    """Measure creations and deletions; at the end there are as many ACLs as before."""
    for _ in range(effort.rounds):
        for target in targets:
            _changes_of_one(table, target, acls, effort)
            if bulk:
                _changes_of_many(table, target, acls, effort)


def _changes_of_one(table: Table, target: Target, acls: int, effort: Effort) -> None:
    # As many as this server makes in the time, found out first.
    probe = list(frames.extra(1, 5, f"probe-{next(_MARKS)}"))
    each_s = run(target.plain_port, Load(frames=frames.create(probe, 1), once=True)).seconds / 5
    alone = _some(1, effort.changes_s / each_s)
    result = run(target.plain_port, Load(frames=frames.create(alone, 1), once=True))
    table.row("CreateAcls of 1", "1 connection", acls, "/s", more=True).add(
        target.name, result.rate
    )
    quick = each_s < 0.01
    together = _some(1, effort.changes_s / each_s * (2 if quick else 1) + 64)
    load = Load(frames=frames.create(together, 1), once=True, connections=64)
    result = run(target.plain_port, load)
    table.row("CreateAcls of 1", "64 connections", acls, "/s", more=True).add(
        target.name, result.rate
    )
    gone = [frames.delete(name=each.pattern.name) for each in alone]
    result = run(target.plain_port, Load(frames=gone, once=True))
    table.row("DeleteAcls of 1", "1 connection", acls, "/s", more=True).add(
        target.name, result.rate
    )
    caller = Caller(target.plain_port)
    for each in (probe, together):
        for request in _cleared(each):
            caller.ask(request)
    caller.close()


def _some(principals: int, each: float) -> list[AclBinding]:
    return list(frames.extra(principals, max(int(each), 5), f"extra-{next(_MARKS)}"))


def _cleared(added: Sequence[AclBinding]) -> list[bytes]:
    """Return the requests that delete what was added; at most 10,000 go with one request."""
    if len(added) <= 10_000:
        return [frames.delete(principal=added[0].entry.principal)]
    return [frames.delete(name=each.pattern.name) for each in added]


def _changes_of_many(table: Table, target: Target, acls: int, effort: Effort) -> None:
    for connections, requests in ((1, 5), (64, 16 * effort.rounds)):
        added = list(frames.extra(requests, frames.PER_REQUEST, f"bulk-{next(_MARKS)}"))
        load = Load(frames=frames.create(added), once=True, connections=connections)
        result = run(target.plain_port, load)
        how = f"{connections} connection{'s' * (connections > 1)}"
        row = table.row("CreateAcls of 1,000", how, acls, "ACLs/s", more=True)
        row.add(target.name, result.rate * frames.PER_REQUEST)
        principals = dict.fromkeys(each.entry.principal for each in added)
        gone = [frames.delete(principal=each) for each in principals]
        result = run(target.plain_port, Load(frames=gone, once=True))
        if connections == 1:
            row = table.row("DeleteAcls by principal, 1,000", how, acls, "ACLs/s", more=True)
            row.add(target.name, result.rate * frames.PER_REQUEST)


def grow(table: Table, target: Target, world: Sequence[AclBinding], acls: int) -> None:
    """Create a world; measure that too where it is large."""
    result = run(target.plain_port, Load(frames=frames.create(world), once=True))
    row = table.row("CreateAcls of 1,000, the whole world", "1 connection", acls, "s", more=False)
    row.add(target.name, result.seconds)


def empty(target: Target, world: Sequence[AclBinding]) -> None:
    """Delete a world: what its principals have, a few of them with each request."""
    gone = [
        frames.delete(principal=each)
        for each in dict.fromkeys(binding.entry.principal for binding in world)
    ]
    run(target.plain_port, Load(frames=gone, once=True, connections=8))
    holds(target, len(list(worlds.bench_rights())))


# --- one beside the other


def measure_beside(table: Table, targets: Sequence[Target], acls: int, effort: Effort) -> None:
    """Measure the patience of a small request while others ask for much."""
    for target in targets:
        for what, others in _neighbours(target, effort).items():
            beside = [Running(target.plain_port, each) for each in others]
            if what == "a reload each half second":
                result = _during_reloads(target, effort)
            else:
                result = run(small().port(target), _patient(effort))
            for each in beside:
                each.stop()
            row = table.row(
                f"p99 of a small request beside {what}", "1 x 1", acls, "ms", more=False
            )
            row.add(target.name, result.p99_us / 1000)
        _clear_created(target)


def _neighbours(target: Target, effort: Effort) -> dict[str, list[Load]]:
    long_s = effort.beside_s + 60
    made = frames.create(frames.extra(100, frames.PER_REQUEST, "beside"))
    found = {
        "nothing": [],
        "full descriptions": [Load(frames=everything().requests, time_s=long_s)],
        "creations of 1,000": [Load(frames=made, once=True)],
        "garbage collection": [Load(frames=_litter(), time_s=long_s)],
    }
    if target.name == "Doorkeeper":
        found["a reload each half second"] = []
    return found


def _litter() -> list[bytes]:
    """Return changes that leave nothing but garbage: ACLs are created, and deleted again."""
    passing = list(frames.extra(1, 100, "passing"))
    return [*frames.create(passing), frames.delete(principal=passing[0].entry.principal)]


def _patient(effort: Effort) -> Load:
    call = small()
    return Load(
        frames=call.requests,
        in_flight=WAITING_MAX,
        warm_s=0.2,
        time_s=effort.beside_s,
        pace_us=PACE_US,
        hello=call.hello(),
    )


def _during_reloads(target: Target, effort: Effort) -> Result:
    running = Running(small().port(target), _patient(effort))
    for _ in range(int(effort.beside_s * 2)):
        time.sleep(0.5)
        target.hang_up()
    return running.result()


def _clear_created(target: Target) -> None:
    gone = [frames.delete(principal=f"User:beside-{who}") for who in range(100)]
    gone.append(_litter()[-1])
    run(target.plain_port, Load(frames=gone, once=True))


# --- logins, starts, memory


def measure_logins(table: Table, targets: Sequence[Target], effort: Effort) -> None:
    """Measure connect, ApiVersions and SCRAM, one client after the other."""
    for target in targets:
        took = []
        for number in range(effort.logins + 5):
            begun = time.perf_counter()
            caller = Caller(target.sasl_port)
            caller.ask(frames.frame(frames.API_VERSIONS))
            caller.ask(frames.handshake(MECHANISM))
            _scram(caller, f"nonce-{number}")
            took.append((time.perf_counter() - begun) * 1000)
            caller.close()
        row = table.row(f"connect and {MECHANISM} login", "1 x 1", 0, "ms", more=False)
        row.add(target.name, median(took[5:]))


def _scram(caller: Caller, nonce: str) -> None:
    client = ScramClient(MECHANISM, worlds.BENCH_USER, PASSWORD, nonce=nonce)
    token = client.first()
    for _ in range(2):
        answer = frames.decoded(SaslAuthenticateResponse, caller.ask(frames.authenticate(token)))
        assert answer.error_code == 0, answer.error_message
        if not client.is_server(answer.auth_bytes):
            token = client.final(answer.auth_bytes)


def measure_starts(
    table: Table, target: Target, acls: int, effort: Effort, *, what: str = ""
) -> None:
    """Measure the start and the memory right behind it, again and again."""
    for _ in range(effort.starts):
        target.stop()
        took_s = target.start()
        row = table.row("start to first answer", what, acls, "ms", more=False)
        row.add(target.name, took_s * 1000)
        row = table.row("memory, just started", what, acls, "MB", more=False)
        row.add(target.name, target.memory_mb())


def measure_idle_connections(table: Table, target: Target, connections: int) -> None:
    """Measure what connections cost that have asked once and say nothing, right behind a start."""
    asked = frames.frame(frames.API_VERSIONS)
    first = Caller(target.plain_port)  # what the first of all costs is not theirs
    first.ask(asked)
    first.close()
    before = target.memory_mb()
    idle = list(_idle(target, connections, asked))
    row = table.row(f"memory of {connections:,} idle connections", "", 0, "MB", more=False)
    row.add(target.name, target.memory_mb() - before)
    for caller in idle:
        caller.close()


def _idle(target: Target, connections: int, asked: bytes) -> Iterator[Caller]:
    for _ in range(connections):
        caller = Caller(target.plain_port)
        caller.ask(asked)
        yield caller
