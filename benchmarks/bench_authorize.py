"""Does a decision cost the same at a thousand and at a million ACLs, and what does a change cost?

    python benchmarks/bench_authorize.py [--quick]

Baselines in the same run: the broker's algorithm (a walk over a sorted list) in Python for
decisions, a scan of all ACLs for answers to filters, a copied shard of dictionaries for changes.
The mix of patterns is 85 % literal, 14 % prefixed, 1 % wildcard; 10 % of the entries are for one
host, 3 % deny. Verdicts of both sides are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import random
import time
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.acls.bulk import load
from doorkeeper.acls.decision import Policy, Question, allows
from doorkeeper.acls.filters import matches
from doorkeeper.acls.model import (
    AccessControlEntry,
    AccessControlEntryFilter,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    Principal,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)
from doorkeeper.acls.operations import satisfied_by
from doorkeeper.acls.search import find
from doorkeeper.server.authorizer.contract import (
    Action,
    AuthorizationResult,
    AuthorizerServerInfo,
    Endpoint,
    by_resource_type,
    masks_by_authorize,
)
from doorkeeper.server.authorizer.guard import GuardedAuthorizer
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.operations.logs.levels import LoggerThreshold
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from doorkeeper.acls.snapshot import Snapshot

TOPIC = ResourceType.TOPIC
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
DENY, ALLOW = AclPermissionType.DENY, AclPermissionType.ALLOW
SHARDS = 4096


class World(NamedTuple):
    """Bindings with ids, and questions about them."""

    stored: list[tuple[str, AclBinding]]
    questions: list[Question]


def make_world(size: int, questions: int, chance: random.Random) -> World:
    """Make ACLs of about 20 for each user on about 3 for each topic."""
    users = [f"User:user-{number}" for number in range(max(size // 20, 1))]
    topics = [f"team-{n % 997}.domain-{n % 31}.events-{n}" for n in range(max(size // 3, 1))]

    def pattern() -> ResourcePattern:
        kind = chance.random()
        name = chance.choice(topics)
        if kind < 0.85:
            return ResourcePattern(TOPIC, name, LITERAL)
        if kind < 0.99:
            return ResourcePattern(TOPIC, name[: chance.randrange(6, len(name))], PREFIXED)
        return ResourcePattern(TOPIC, "*", LITERAL)

    def entry() -> AccessControlEntry:
        return AccessControlEntry(
            chance.choice(users),
            "*" if chance.random() < 0.9 else f"10.0.0.{chance.randrange(256)}",
            AclOperation(chance.choice((2, 3, 4, 5, 6, 7, 8, 10, 11))),
            DENY if chance.random() < 0.03 else ALLOW,
        )

    stored = [(f"{number:022}", AclBinding(pattern(), entry())) for number in range(size)]
    asked = [
        Question(
            chance.choice(users),
            f"10.0.0.{chance.randrange(256)}",
            AclOperation(chance.choice((3, 4, 8))),
            TOPIC,
            chance.choice(topics),
        )
        for _ in range(questions)
    ]
    return World(stored, asked)


class SortedWalk:
    """The broker's algorithm: entries sorted by name, descending; jumps from prefix to prefix."""

    def __init__(self, bindings: Iterable[AclBinding]) -> None:
        """Sort. Bisecting wants ascending keys, so names are kept reversed in order."""
        groups: dict[str, list[AclBinding]] = {}
        for binding in bindings:
            groups.setdefault(binding.pattern.name, []).append(binding)
        self._names = sorted(groups)
        self._groups = groups

    def decide(self, question: Question) -> bool:
        """Answer, with the walk beginning at the resource's name."""
        allowed = False
        for name in (*self._covering(question.name), "*"):
            for (_, _, pattern_type), entry in self._groups.get(name, ()):
                if pattern_type is LITERAL and name not in (question.name, "*"):
                    continue
                if entry.principal not in (question.principal, "User:*"):
                    continue
                if entry.host not in ("*", question.host):
                    continue
                if entry.permission_type is DENY:
                    if entry.operation in (question.operation, AclOperation.ALL):
                        return False
                elif satisfied_by(question.operation, entry.operation):
                    allowed = True
        return allowed

    def _covering(self, name: str) -> list[str]:
        found = []
        exemplar = name
        while exemplar:
            place = bisect_left(self._names, exemplar)
            if place < len(self._names) and self._names[place] == exemplar:
                found.append(exemplar)
                exemplar = exemplar[:-1]
                continue
            if place == 0:
                break
            exemplar = exemplar[: _common(name, self._names[place - 1], len(exemplar) - 1)]
        return found


def _common(one: str, other: str, most: int) -> int:
    size = 0
    while size < min(most, len(other)) and one[size] == other[size]:
        size += 1
    return size


def per_call_us(call: Callable[[], object], calls: int) -> float:
    """Return the best of three rounds, in microseconds for each call."""
    rounds = []
    for _ in range(3):
        begun = time.perf_counter()
        call()
        rounds.append(time.perf_counter() - begun)
    return min(rounds) / calls * 1e6


def report(what: str, ours: float, baseline: float | None = None, unit: str = "us") -> None:
    """Print one line: what, ours, and how many times the baseline takes."""
    ratio = (
        ""
        if baseline is None
        else f"   baseline {baseline:12,.2f} {unit}   {baseline / ours:8.1f}x"
    )
    print(f"  {what:<46}{ours:12,.2f} {unit}{ratio}")


async def started(world: World) -> StandardAuthorizer:
    """Return an authorizer in memory with the world in it, and no audit."""
    authorizer = StandardAuthorizer(authorizer_log=Silence())
    authorizer.attach(StateLog(MemoryStore(edit(ACL, set=world.stored))))
    authorizer.configure({})
    endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9092)
    info = AuthorizerServerInfo("c" * 22, 1, (endpoint,), endpoint, frozenset())
    await authorizer.start(info)[endpoint]
    return authorizer


class Silence:
    """An authorizer log that discards every line."""

    threshold = LoggerThreshold(100)

    def write(self, level: int, text: str) -> None:
        """Never called."""


def decisions(world: World, snapshot: Snapshot, authorizer: StandardAuthorizer) -> None:
    """Time decisions: ours by question and through the authorizer, against the walk."""
    policy = Policy()
    questions = world.questions
    walk = SortedWalk(binding for _, binding in world.stored)
    some = questions[:300]
    assert [allows(policy, snapshot, each) for each in some] == list(map(walk.decide, some))
    requests = [
        (
            AuthorizableRequestContext(
                "L", "PLAINTEXT", Principal.parse(each.principal), each.host, 1, 12, "c", 1
            ),
            [Action(each.operation, ResourcePattern(TOPIC, each.name, LITERAL))],
        )
        for each in questions
    ]
    walked = per_call_us(lambda: [walk.decide(each) for each in some], len(some))
    masks = per_call_us(
        lambda: [allows(policy, snapshot, each) for each in questions], len(questions)
    )
    whole = per_call_us(lambda: [authorizer.authorize(*each) for each in requests], len(requests))
    report("decision by masks / sorted walk", masks, walked)
    report("authorize() of one action", whole, walked)
    eight = [
        (
            context,
            [
                Action(AclOperation(code), actions[0].resource)
                for code in (3, 4, 5, 6, 7, 8, 10, 11)
            ],
        )
        for context, actions in requests[:2000]
    ]
    report(
        "authorize() of 8 operations on one resource",
        per_call_us(lambda: [authorizer.authorize(*each) for each in eight], len(eight)),
    )
    behind_the_guard(authorizer, requests[:2000], eight)


Requests = list[tuple[AuthorizableRequestContext, list[Action]]]


def behind_the_guard(authorizer: StandardAuthorizer, one: Requests, eight: Requests) -> None:
    """Time what the guard adds, and masks in one pass against single questions."""
    guard = GuardedAuthorizer(authorizer)

    def per_request_us(requests: Requests, call: Callable[..., object]) -> float:
        return per_call_us(lambda: [call(*each) for each in requests], len(requests))

    for count, requests in ((1, one), (8, eight)):
        without = per_request_us(requests, authorizer.authorize)
        report(f"guarded, {count} / not", per_request_us(requests, guard.authorize), without)
    resources = [(context, [action.resource for action in actions]) for context, actions in one]

    def mask_us(call: Callable[..., object]) -> float:
        return per_call_us(lambda: [call(*each) for each in resources], len(resources))

    by_one = mask_us(lambda *each: masks_by_authorize(authorizer, *each))
    report("mask / authorize() each", mask_us(authorizer.authorized_operations), by_one)


def changes(world: World, snapshot: Snapshot, chance: random.Random) -> None:
    """Time one creation and one deletion, spread and on one hot principal and one hot topic."""
    base = world.stored[0][1]
    new = [
        (f"n{number:021}", AclBinding(base.pattern._replace(name=f"new-{number}"), base.entry))
        for number in range(500)
    ]
    gone = [binding for _, binding in chance.sample(world.stored, min(500, len(world.stored)))]
    shards: list[dict[AclBinding, str]] = [{} for _ in range(SHARDS)]
    for binding_id, binding in world.stored:
        shards[hash(binding) % SHARDS][binding] = binding_id
    root = tuple(shards)

    def copy_shards() -> None:
        for binding_id, binding in new:
            place = hash(binding) % SHARDS
            shard = root[place].copy()
            shard[binding] = binding_id
            copied = list(root)
            copied[place] = shard
            tuple(copied)

    copying = per_call_us(copy_shards, len(new))
    report(
        "one creation, all indexes / one copied shard",
        per_call_us(lambda: [snapshot.with_changes([each]) for each in new], len(new)),
        copying,
    )
    report(
        "one deletion, all indexes",
        per_call_us(lambda: [snapshot.without([each]) for each in gone], len(gone)),
    )
    hot_user = load(
        (binding_id, AclBinding(each.pattern, each.entry._replace(principal="User:hot")))
        for binding_id, each in world.stored
    )
    report(
        "one creation, one principal holds all",
        per_call_us(
            lambda: [
                hot_user.with_changes(
                    [
                        (
                            each[0],
                            AclBinding(
                                each[1].pattern, each[1].entry._replace(principal="User:hot")
                            ),
                        )
                    ]
                )
                for each in new
            ],
            len(new),
        ),
    )
    hot_topic = load(
        (
            binding_id,
            AclBinding(base.pattern, each.entry._replace(principal=f"User:{binding_id}")),
        )
        for binding_id, each in world.stored
    )
    report(
        "one creation, one topic holds all",
        per_call_us(
            lambda: [
                hot_topic.with_changes(
                    [
                        (
                            each[0],
                            AclBinding(
                                base.pattern, base.entry._replace(principal=f"User:{each[0]}")
                            ),
                        )
                    ]
                )
                for each in new
            ],
            len(new),
        ),
    )


def answers(world: World, snapshot: Snapshot, authorizer: StandardAuthorizer) -> None:
    """Time filters against a scan, and "some resource" against the contract's default."""
    binding = next(each for _, each in world.stored if each.pattern.pattern_type is LITERAL)
    everyone = AccessControlEntryFilter(None, None, AclOperation.ANY, AclPermissionType.ANY)
    filters: Sequence[tuple[str, AclBindingFilter]] = (
        (
            "describe one topic",
            AclBindingFilter(ResourcePatternFilter(TOPIC, binding.pattern.name, LITERAL), everyone),
        ),
        (
            "describe by MATCH and principal",
            AclBindingFilter(
                ResourcePatternFilter(TOPIC, binding.pattern.name, PatternType.MATCH),
                everyone._replace(principal=binding.entry.principal),
            ),
        ),
        (
            "describe one principal",
            AclBindingFilter(
                ResourcePatternFilter(ResourceType.ANY, None, PatternType.ANY),
                everyone._replace(principal=binding.entry.principal),
            ),
        ),
        (
            "describe everything",
            AclBindingFilter(
                ResourcePatternFilter(ResourceType.ANY, None, PatternType.ANY), everyone
            ),
        ),
    )
    for what, wanted in filters:
        begun = time.perf_counter()
        scanned = {each for _, each in world.stored if matches(wanted, each)}
        scan = (time.perf_counter() - begun) * 1e6
        assert set(find(snapshot, wanted)) == scanned
        large = len(scanned) > 1000
        calls = 1 if large else 200
        ours = per_call_us(lambda w=wanted, c=calls: [find(snapshot, w) for _ in range(c)], calls)  # type: ignore[misc]
        if large:
            report(f"{what} / scan", ours / 1000, scan / 1000, "ms")
        else:
            report(f"{what} / scan", ours, scan)
    context = AuthorizableRequestContext(
        "L", "PLAINTEXT", Principal("User", "nobody"), "10.0.0.1", 22, 4, "c", 1
    )
    asked = (context, AclOperation.WRITE, TOPIC)
    assert authorizer.authorize_by_resource_type(*asked) is AuthorizationResult.DENIED
    default = per_call_us(lambda: by_resource_type(authorizer, *asked), 1)
    ours = per_call_us(
        lambda: [authorizer.authorize_by_resource_type(*asked) for _ in range(200)], 200
    )
    report("authorize_by_resource_type / contract's default", ours, default)


async def main() -> None:
    """Run all sizes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a thousand and twenty thousand only")
    quick = parser.parse_args().quick
    for size in (1_000, 20_000) if quick else (1_000, 100_000, 1_000_000):
        chance = random.Random(size)
        world = make_world(size, 2_000 if quick else 20_000, chance)
        gc.collect()
        gc.freeze()
        gc.disable()
        begun = time.perf_counter()
        snapshot = load(world.stored)
        loading = time.perf_counter() - begun
        print(f"{size:,} ACLs ({snapshot.count:,} different)")
        report("load (ms)", loading * 1000, unit="ms")
        gc.freeze()
        gc.enable()
        authorizer = await started(world)
        decisions(world, snapshot, authorizer)
        changes(world, snapshot, chance)
        answers(world, snapshot, authorizer)
        gc.unfreeze()


if __name__ == "__main__":
    asyncio.run(main())
