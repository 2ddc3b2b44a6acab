"""doorkeeper.server.operations.audit.merging: equal decisions are counted, and become one event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.model import AclOperation, PatternType, ResourcePattern, ResourceType
from doorkeeper.acls.snapshot import EMPTY
from doorkeeper.server.authorizer.contract import Action, AuthorizationResult
from doorkeeper.server.config.audit_keys import Recorded
from doorkeeper.server.operations.audit.merging import EVENT_CHARACTERS, Merging
from doorkeeper.server.operations.audit.queue import Queue
from doorkeeper.server.runtime.metrics.meters import AuditMeter
from testkit.acl import allow, request_of
from testkit.trails import LOGIN, HandLoop, Time, audit_settings

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.server.authorizer.standard import StandardAuthorizer
    from doorkeeper.server.operations.audit.events import Decision, Login

ALLOWED, DENIED = AuthorizationResult.ALLOWED, AuthorizationResult.DENIED


def topic(name: str) -> ResourcePattern:
    return ResourcePattern(ResourceType.TOPIC, name, PatternType.LITERAL)


READ = Action(AclOperation.READ, topic("orders"))


class Basis:
    """An authorizer with a state that the test changes."""

    def __init__(self) -> None:
        self.policy = Policy()
        self.snapshot = EMPTY
        self.stale = False


class World:
    def __init__(
        self, folder: Path, *, entries_max: int = 100, queue: int = 1000, **changes: Any
    ) -> None:
        self.queue, self.loop, self.time = Queue(queue), HandLoop(), Time()
        self.now_ns = self.time.clocks.now_ns
        self.basis, self.meter = Basis(), AuditMeter()
        self.merging = Merging(
            self.queue,
            audit_settings(folder, **changes),
            self.loop.loop,
            now_ns=self.now_ns,
            meter=self.meter,
            basis=cast("StandardAuthorizer", self.basis),
            entries_max=entries_max,
        )

    def decide(self, user: str, *actions: Action, allowed: bool = True, number: int = 7) -> None:
        context = request_of(user)._replace(correlation_id=number)
        result = ALLOWED if allowed else DENIED
        self.merging.on_decision(context, actions, [result] * len(actions))

    def events(self) -> list[Any]:
        """Return the events of what has been handed over."""
        return [event for item in self.queue.take(0).items for event in item.make()]


def test_equal_decisions_are_merged(tmp_path: Path) -> None:
    w = World(tmp_path)
    start_ns = w.time.ns
    for number in (1, 2, 3):
        w.decide("bob", READ, number=number)
        w.time.sleep(0.1)
    w.decide("bob", READ, allowed=False)
    w.decide("eve", READ)
    assert w.events() == []

    w.loop.fire()

    first, denied, eve = cast("list[Decision]", w.events())
    assert (first.count, first.correlation_id, first.last_correlation_id) == (3, 1, 3)
    assert (first.first_ns, first.last_ns) == (start_ns, start_ns + 200_000_000)
    assert (denied.count, denied.outcome) == (1, "DENIED")
    assert eve.principal == "User:eve"
    assert w.loop.later == []


def test_different_decisions_are_not_merged(tmp_path: Path) -> None:
    w = World(tmp_path)
    context = request_of("bob")
    changes: list[dict[str, Any]] = [
        {},
        {"listener_name": "OTHER"},
        {"security_protocol": "SSL"},
        {"principal": context.principal._replace(name="eve")},
        {"client_address": "10.0.0.9"},
        {"request_type": 30},
        {"request_version": 2},
        {"client_id": "other"},
        {"client_software": "java/4.0"},
    ]
    actions = [
        READ._replace(operation=AclOperation.WRITE),
        READ._replace(resource=topic("bills")),
        READ._replace(resource_reference_count=2),
        READ._replace(log_if_denied=False),
    ]
    for change in changes:
        w.merging.on_decision(context._replace(**change), [READ], [ALLOWED])
    w.merging.on_decision(context, actions, [ALLOWED] * len(actions))

    w.merging.hand_over()

    assert [event.count for event in w.events()] == [1] * (len(changes) + len(actions))


def test_recorded_decisions_depend_on_the_setting(tmp_path: Path) -> None:
    """Recorded is what Kafka logs at DEBUG or INFO; with denied, what it logs at INFO."""
    quiet = READ._replace(log_if_allowed=False, log_if_denied=False)
    probe = READ._replace(log_if_denied=False)
    found = {}
    for recorded in Recorded:
        w = World(tmp_path, decisions=recorded)
        for allowed in (True, False):
            w.decide("bob", READ, probe, quiet, allowed=allowed)
        w.merging.hand_over()
        found[recorded] = [(event.outcome, event.purpose) for event in w.events()]

    assert found[Recorded.ALL] == [
        ("ALLOWED", "access"),
        ("ALLOWED", "probe"),
        ("DENIED", "access"),
    ]
    assert found[Recorded.DENIED] == [("DENIED", "access")]


def test_rule_is_that_of_the_decision_state(tmp_path: Path) -> None:
    w = World(tmp_path)
    w.basis.policy = Policy(super_users=frozenset({"User:bob"}))
    w.decide("bob", READ)
    w.basis.policy = Policy()
    w.basis.snapshot = EMPTY.with_changes(
        [("id-1", allow("bob", AclOperation.READ, topic("orders")))]
    )
    w.decide("bob", READ)
    w.decide("bob", READ)

    w.merging.hand_over()

    assert [(event.rule, event.count) for event in w.events()] == [
        ("SuperUser", 1),
        ("MatchingAcl", 2),
    ]


def test_denials_of_a_stale_state_name_no_acl(tmp_path: Path) -> None:
    """A node cut off from its store denies whatever its old ACLs allow, except to super users."""
    w = World(tmp_path)
    w.basis.policy = Policy(super_users=frozenset({"User:alice"}), allow_everyone=True)
    w.basis.snapshot = EMPTY.with_changes(
        [("id-1", allow("bob", AclOperation.READ, topic("orders")))]
    )
    w.basis.stale = True
    w.decide("bob", READ, allowed=False)
    w.decide("bob", READ, allowed=False)
    w.decide("alice", READ)

    w.merging.hand_over()

    assert [(event.outcome, event.rule, event.binding, event.count) for event in w.events()] == [
        ("DENIED", "DefaultDeny", None, 2),
        ("ALLOWED", "SuperUser", None, 1),
    ]


def test_full_queue_drops_and_counts(tmp_path: Path) -> None:
    w = World(tmp_path, entries_max=2, queue=2)
    for name in ("a", "b", "c", "d"):
        w.decide("bob", READ._replace(resource=topic(name)))
    w.decide("bob", READ._replace(resource=topic("e")))
    w.decide("bob", READ._replace(resource=topic("d")))

    batch = w.queue.take(0)

    assert [item.events for item in batch.items] == [2]
    assert batch.lost is not None
    assert (batch.lost.items, w.meter.dropped.value) == (1, 1)
    w.loop.fire()
    assert w.queue.take(0).items == []
    w.loop.fire()
    assert [(event.resource_name, event.count) for event in w.events()] == [("c", 1), ("d", 2)]


def test_events_with_long_texts_take_the_room_of_several(tmp_path: Path) -> None:
    w = World(tmp_path, entries_max=4, queue=4)
    long = "x" * EVENT_CHARACTERS
    for name in ("a" + long, "b" + long, "c" + 9 * long, "d"):
        w.decide("bob", READ._replace(resource=topic(name)))

    batch = w.queue.take(0)

    # The third one takes all the room that there is, and has to wait for the first two.
    assert ([item.events for item in batch.items], w.queue.size) == ([2], 4)
    assert w.meter.dropped.value == 1
    w.queue.take(0)
    w.loop.fire()
    assert [event.resource_name[0] for event in w.events()] == ["c"]


def test_full_queue_at_shutdown_is_counted(tmp_path: Path) -> None:
    w = World(tmp_path, queue=1)
    for _ in range(3):
        w.decide("bob", READ)
    w.merging.record_login(LOGIN)

    w.merging.close()

    batch = w.queue.take(0)
    assert batch.items == []
    assert batch.lost is not None
    assert (batch.lost.items, w.meter.dropped.value) == (4, 4)
    w.loop.fire()
    assert w.queue.take(0).items == []


def test_equal_logins_are_merged(tmp_path: Path) -> None:
    w = World(tmp_path)
    w.merging.record_login(LOGIN)
    w.merging.record_login(LOGIN)
    w.merging.record_login(replace(LOGIN, reason="unknown user"))

    w.loop.fire()

    one, other = cast("list[Login]", w.events())
    assert (one.count, one.reason, other.count) == (2, "wrong password", 1)


def test_repeated_requests_are_merged(tmp_path: Path) -> None:
    w = World(tmp_path)
    start_ns = w.time.ns
    bills = Action(AclOperation.READ, topic("bills"))
    for number in (1, 2, 3):
        w.decide("bob", READ, bills, number=number)
        w.time.sleep(0.1)
        w.decide("eve", READ, number=number + 10)
    w.decide("bob", bills, number=4)
    w.merging.hand_over()
    w.decide("bob", READ, bills, number=5)
    w.merging.hand_over()

    items = w.queue.take(0).items
    events = cast("list[Decision]", [event for item in items for event in item.make()])

    assert [item.happened for item in items] == [10, 2]
    assert [
        (event.principal[5:], event.resource_name, event.count, event.last_correlation_id)
        for event in events
    ] == [
        ("bob", "orders", 3, 3),
        ("bob", "bills", 4, 4),
        ("eve", "orders", 3, 13),
        ("bob", "orders", 1, 5),
        ("bob", "bills", 1, 5),
    ]
    assert [event.last_ns - start_ns for event in events[:3]] == [
        200_000_000,
        300_000_000,
        300_000_000,
    ]


def test_failed_item_is_built_again(tmp_path: Path) -> None:
    w = World(tmp_path)
    w.decide("bob", READ)
    w.decide("bob", READ)
    w.merging.record_login(LOGIN)
    w.merging.hand_over()
    (item,) = w.queue.take(0).items

    once, again = list(item.make()), list(item.make())

    assert once == again
    assert (item.events, item.happened, item.must_be_kept) == (2, 3, False)
    w.merging.hand_over()
    assert w.queue.take(0).items == []


def test_mutable_results_are_copied(tmp_path: Path) -> None:
    w = World(tmp_path)
    w.merging.basis = None
    actions, results = [READ], [ALLOWED]
    context = request_of("bob")
    w.merging.on_decision(context, actions, results)
    results[0] = DENIED
    w.merging.on_decision(context, actions, results)
    actions[0] = READ._replace(resource=topic("bills"))
    w.merging.on_decision(context, actions, results)

    w.merging.hand_over()

    events = cast("list[Decision]", w.events())
    assert [(event.resource_name, event.outcome, event.count) for event in events] == [
        ("orders", "ALLOWED", 1),
        ("orders", "DENIED", 1),
        ("bills", "DENIED", 1),
    ]
