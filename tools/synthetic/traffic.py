"""The traffic of a world: distinct questions with their answers, and when each is asked.

A question has a principal, host, operation, resource and request. Principals ask
mostly about names of their own team, a few names far more often than the rest; some reach for names
of others and are refused. The engine answers each distinct question once. A stream then says which
of them is asked at which millisecond: more by day than by night, some only in the last tenth of the
time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from doorkeeper.acls.bulk import load
from doorkeeper.acls.decision import Decision, Policy, Question, explain
from doorkeeper.acls.model import AclBinding, AclOperation, ResourceType
from synthetic.grants import SUPER_USER, grants_of
from synthetic.names import Names, names_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from synthetic.shape import Shape

    Integers = npt.NDArray[np.int64]
    Numbers = npt.NDArray[np.float64]


class Asking(NamedTuple):
    """A request that asks something, by the name that the log has for it."""

    api: str
    operation: AclOperation
    resource_type: ResourceType
    share: int


ASKINGS = (
    Asking("Fetch", AclOperation.READ, ResourceType.TOPIC, 26),
    Asking("Produce", AclOperation.WRITE, ResourceType.TOPIC, 20),
    Asking("Metadata", AclOperation.DESCRIBE, ResourceType.TOPIC, 14),
    Asking("OffsetCommit", AclOperation.READ, ResourceType.GROUP, 9),
    Asking("JoinGroup", AclOperation.READ, ResourceType.GROUP, 6),
    Asking("FindCoordinator", AclOperation.DESCRIBE, ResourceType.GROUP, 5),
    Asking("ListOffsets", AclOperation.DESCRIBE, ResourceType.TOPIC, 5),
    Asking("InitProducerId", AclOperation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, 4),
    Asking("InitProducerId", AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, 3),
    Asking("DescribeConfigs", AclOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC, 3),
    Asking("DescribeAcls", AclOperation.DESCRIBE, ResourceType.CLUSTER, 2),
    Asking("CreateTopics", AclOperation.CREATE, ResourceType.TOPIC, 2),
    Asking("DeleteTopics", AclOperation.DELETE, ResourceType.TOPIC, 1),
)
"""The requests of clients, and their percentage."""

_REFERENCES = np.array([1, 1, 1, 1, 2, 3, 6, 12])
_HOST_SLOTS = 4
_LATE_SHARE = 0.02
_LATE_FROM = 0.9
_FOREIGN_SHARE = 0.12
_REFUSED_WEIGHT = 0.08
_INCIDENT = (0.6, 0.615)
_INCIDENT_SHARE = 0.3
_ROUNDS_MAX = 24
_CURVE_STEPS_A_DAY = 96
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Everything about a made-up cluster but the moments, see ``events``.

    ``questions`` has a row for each distinct question: principal, host, operation, resource_type,
    resource_name, api, reference_count, allowed. ``decisions`` are the engine's answers, in the
    same order, and ``weights`` how often each comes up, adding up to 1. ``late`` marks those
    that are not asked before the last tenth of the time.
    """

    shape: Shape
    names: Names
    bindings: tuple[AclBinding, ...]
    policy: Policy
    questions: pa.Table
    decisions: tuple[Decision, ...]
    weights: Numbers
    late: npt.NDArray[np.bool_]


class Events(NamedTuple):
    """Some events in the order of time: the row of the question, and milliseconds since 1970."""

    rows: Integers
    at_ms: Integers


def world_of(shape: Shape) -> World:
    """Make the world of a shape. The default one takes about ten seconds, most of it answers."""
    names = names_of(shape)
    bindings = grants_of(shape, names)
    policy = Policy(super_users=frozenset({SUPER_USER}))
    drawn = _distinct(shape, names)
    columns = _columns(names, drawn)
    snapshot = load((f"acl-{number}", each) for number, each in enumerate(bindings))
    asked = zip(*(columns[name] for name in _ASKED), strict=True)
    decisions = tuple(
        explain(
            policy,
            snapshot,
            Question(who, host, AclOperation[what], ResourceType[kind], resource),
        )
        for who, host, what, kind, resource in asked
    )
    columns["allowed"] = [each.allowed for each in decisions]
    rng = np.random.default_rng([shape.seed, 4])
    return World(
        shape=shape,
        names=names,
        bindings=bindings,
        policy=policy,
        questions=pa.table(columns),
        decisions=decisions,
        weights=_weights(shape, np.array(columns["allowed"]), rng),
        late=rng.random(len(drawn)) < _LATE_SHARE,
    )


def events(
    world: World, count: int, *, begin_ms: int, days: int = 7, chunk: int = 250_000
) -> Iterator[Events]:
    """Return so many events in the order of time, in chunks, spread over some days.

    The same world and numbers give the same events, with any size of chunks.
    """
    cumulated = np.cumsum(world.weights)
    early = np.flatnonzero(~world.late)
    curve_at, curve = _daily_curve(days, np.random.default_rng([world.shape.seed, 6]))
    incident = _incident(world)
    block = 65_536  # drawn with a seed of its own, so that chunks do not matter
    kept: list[Events] = []
    held = 0
    for number, begin in enumerate(range(0, count, block)):
        size = min(block, count - begin)
        rng = np.random.default_rng([world.shape.seed, 5, number])
        rows = np.searchsorted(cumulated, rng.random(size) * cumulated[-1], side="right")
        rows = np.minimum(rows, len(cumulated) - 1)
        part = (np.arange(begin, begin + size) + rng.random(size)) / count
        instead = early[rng.integers(0, max(1, len(early)), size)] if len(early) else rows
        rows = np.where(world.late[rows] & (part < _LATE_FROM), instead, rows)
        rows = np.where(_in_incident(part) & (rng.random(size) < _INCIDENT_SHARE), incident, rows)
        at_ms = begin_ms + np.interp(part, curve, curve_at).astype(np.int64)
        kept.append(Events(rows.astype(np.int64), at_ms))
        held += size
        while held >= chunk:
            joined = _join(kept)
            yield Events(joined.rows[:chunk], joined.at_ms[:chunk])
            kept = [Events(joined.rows[chunk:], joined.at_ms[chunk:])]
            held -= chunk
    if held:
        yield _join(kept)


def _join(parts: list[Events]) -> Events:
    if len(parts) == 1:
        return parts[0]
    return Events(
        np.concatenate([each.rows for each in parts]),
        np.concatenate([each.at_ms for each in parts]),
    )


_ASKED = ("principal", "host", "operation", "resource_type", "resource_name")


class _Drawn(NamedTuple):
    """Distinct questions as numbers, a position in each list of names."""

    who: Integers
    host: Integers
    asking: Integers
    resource: Integers
    references: Integers

    def __len__(self) -> int:
        return len(self.who)


def _distinct(shape: Shape, names: Names) -> _Drawn:
    """Draw questions until so many different ones are there, or no more come."""
    rng = np.random.default_rng([shape.seed, 2])
    sizes = (len(names.principals), _HOST_SLOTS, len(ASKINGS), _largest(names), len(_REFERENCES))
    found = np.empty(0, dtype=np.int64)
    for _ in range(_ROUNDS_MAX):
        drawn = _round(names, rng, 2 * shape.questions)
        found = np.union1d(found, np.ravel_multi_index(tuple(drawn), sizes))
        if len(found) >= shape.questions:
            break
    chosen = np.sort(rng.permutation(found)[: shape.questions])
    who, slot, *rest = np.unravel_index(chosen, sizes)
    host = (who * 7 + slot * 13) % len(names.hosts)
    return _Drawn(who, host, *rest)


def _round(names: Names, rng: np.random.Generator, size: int) -> _Drawn:
    """Draw questions, some of them alike; ``host`` is a slot of the principal's here."""
    shares = np.array([each.share for each in ASKINGS], dtype=np.float64)
    asking = rng.choice(len(ASKINGS), size=size, p=shares / shares.sum())
    who = (rng.random(size) ** 1.5 * len(names.principals)).astype(np.int64)
    team = who * names.teams // len(names.principals)
    foreign = rng.random(size) < _FOREIGN_SHARE
    team = np.where(foreign, rng.integers(0, names.teams, size), team)
    counts = np.array([len(names.resources[each.resource_type]) for each in ASKINGS])[asking]
    begin = np.minimum(-(-team * counts // names.teams), counts - 1)
    end = -(-(team + 1) * counts // names.teams)
    there = (rng.random(size) ** 2.5 * np.maximum(1, end - begin)).astype(np.int64)
    slot = (rng.random(size) ** 2 * _HOST_SLOTS).astype(np.int64)
    # The number of references hangs on the rest, as it does for a client with a fixed assignment.
    references = (who + there * 3 + asking) % len(_REFERENCES)
    return _Drawn(who, slot, asking, begin + there, references)


def _largest(names: Names) -> int:
    return max(len(those) for those in names.resources.values())


def _columns(names: Names, drawn: _Drawn) -> dict[str, Any]:
    """Return the questions as columns of texts and numbers; the super user asks a few of them."""
    askings = [ASKINGS[each] for each in drawn.asking.tolist()]
    principals = [names.principals[each] for each in drawn.who.tolist()]
    principals[:: max(200, len(drawn) // 500)] = [
        SUPER_USER for _ in principals[:: max(200, len(drawn) // 500)]
    ]
    resources = names.resources
    return {
        "principal": principals,
        "host": [names.hosts[each] for each in drawn.host.tolist()],
        "operation": [each.operation.name for each in askings],
        "resource_type": [each.resource_type.name for each in askings],
        "resource_name": [
            resources[asking.resource_type][each]
            for asking, each in zip(askings, drawn.resource.tolist(), strict=True)
        ],
        "api": [each.api for each in askings],
        "reference_count": _REFERENCES[drawn.references].astype(np.int32),
    }


def _weights(shape: Shape, allowed: npt.NDArray[np.bool_], rng: np.random.Generator) -> Numbers:
    """Return Zipf's weights over the questions in an order of chance.

    Denied questions come up less: a denied client that is refused gets repaired, or gives up.
    """
    ranks = 1.0 + rng.permutation(len(allowed))
    weights = np.where(allowed, 1.0, _REFUSED_WEIGHT) / np.power(ranks, shape.skew)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _incident(world: World) -> int:
    """Return the question that a client asks again and again while it is set up wrongly."""
    denied = [row for row, each in enumerate(world.decisions) if not each.allowed]
    return denied[len(denied) // 2] if denied else 0


def _in_incident(part: Numbers) -> npt.NDArray[np.bool_]:
    begin, end = _INCIDENT
    return (part >= begin) & (part < end)


def _daily_curve(days: int, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Return moments in ms, and which part of all events has happened by then.

    Three times as much at three in the afternoon as at three in the morning, and never even.
    """
    steps = days * _CURVE_STEPS_A_DAY
    at = np.arange(steps + 1) / _CURVE_STEPS_A_DAY
    rate = 2.0 + np.cos(2 * np.pi * (at[:-1] - 15 / 24))
    rate *= rng.lognormal(0, 0.12, steps)
    done = np.concatenate([[0.0], np.cumsum(rate)])
    return at * _DAY_MS, done / done[-1]
