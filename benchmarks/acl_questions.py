"""How long questions about many names take, and the comparison of decisions, with many ACLs.

    python benchmarks/acl_questions.py [--acls N] [--rounds N] [--quick]

The ACLs are there already: what reading them takes, ``acl_sets.py`` measures. Each line is the
median of some rounds, in seconds of CPU and on the clock, on three sets of ACLs: mostly literal
ones of a thousand principals, ones with hosts and networks, and one principal that has all.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from doorkeeper.acls.assertions import Assertion, AssertionKind, counterexamples
from doorkeeper.acls.bulk import load
from doorkeeper.acls.cases import Space, cases
from doorkeeper.acls.decision import Policy
from doorkeeper.acls.effective_changes import DecisionState, effective_changes
from doorkeeper.acls.model import ResourceType
from doorkeeper.acls.regions import Extent
from doorkeeper.acls.tasks import TaskNeed, task_access

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from testkit.acl import PREFIXED, READ, WRITE, allow, deny, topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sized

    from doorkeeper.acls.model import AclBinding

TOPIC = ResourceType.TOPIC
PLAIN = Policy()


def state(world: Iterable[AclBinding]) -> DecisionState:
    """Return ACLs under the rules of Kafka 4.4."""
    snapshot = load(("", each) for each in world).with_network_matching(enabled=True)
    return DecisionState(PLAIN, snapshot)


def teams(count: int, host: Callable[[int], str]) -> list[AclBinding]:
    """Return ACLs of a thousand principals: their topics, some prefixes, and what all may do."""
    return [
        *(allow("User:*", READ, topic(f"public-{n}-", PREFIXED)) for n in range(count // 1000)),
        *(deny("User:*", READ, topic(f"topic-{n}7-pii", PREFIXED)) for n in range(count // 1000)),
        *(
            allow(f"user-{n % 997}", READ, topic(f"topic-{n}-", PREFIXED), host(n))
            for n in range(count // 10)
        ),
        *(
            allow(f"user-{n % 997}", WRITE if n % 2 else READ, topic(f"topic-{n}"), host(n))
            for n in range(count - count // 10 - 2 * (count // 1000))
        ),
    ]


def everywhere(_number: int) -> str:
    """Return the host of all clients."""
    return "*"


def somewhere(number: int) -> str:
    """Return one of a thousand networks and addresses."""
    near = number % 250
    return f"10.{near}.0.0/16" if number % 3 else f"10.{near}.{number % 4}.1"


def measure(name: str, rounds: int, work: Callable[..., Sized], *parts: Any) -> None:
    """Print the medians of some runs, and how much was found."""
    cpu, clock, count = [], [], 0
    for _ in range(rounds):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        count = len(work(*parts))
        cpu.append(time.process_time() - begin_cpu)
        clock.append(time.perf_counter() - begin)
    print(f"{name:58s} {median(cpu):8.3f} {median(clock):8.3f}   {count:,}")


def questions(name: str, found: DecisionState, rounds: int) -> None:
    """Measure questions about a prefix, and about all names."""
    for prefix in ("topic-12", ""):
        what, names = f"{name}, {prefix!r}", Extent(prefix)
        space = Space("User:user-1", "*", READ, TOPIC, names)
        needs = [TaskNeed(READ, TOPIC, names)]
        rule = Assertion(
            AssertionKind.ONLY, ("User:user-1",), ((TOPIC, (READ,)),), names, "*", None, ()
        )
        measure(f"{what}: explain", rounds, cases, *found, space)
        near = space._replace(host="10.0.0.0/8")
        measure(f"{what}: explain from a network", rounds, cases, *found, near)
        measure(f"{what}: who-can", rounds, task_access, *found, "*", needs)
        measure(f"{what}: assert only", rounds, counterexamples, found, rule)


def measure_questions(count: int, rounds: int) -> None:
    """Measure with so many ACLs."""
    print(f"{count:,} ACLs {'':45s} {'CPU s':>8s} {'clock s':>8s}   found")
    plain, hosts = teams(count, everywhere), teams(count, somewhere)
    every = [allow("one", READ, topic(f"t{number}-", PREFIXED)) for number in range(count // 2)]
    one = state(every)
    space = Space("User:one", "*", READ, TOPIC, Extent("t"))
    measure(f"{count // 2 + 1:,} cases: explain", rounds, cases, *one, space)
    questions("teams", state(plain), rounds)
    questions("with hosts", state(hosts), rounds)
    for name, before, after in (
        ("nothing", plain, plain),
        ("1 % removed", plain, plain[count // 100 :]),
        ("one DENY for all", plain, [*plain, deny("User:*", READ, topic("topic-1", PREFIXED))]),
        ("hosts of all", plain, hosts),
        ("hosts, one DENY for all", hosts, [*hosts, deny("User:*", READ, topic("*"))]),
        ("everything", plain, every),
    ):
        measure(
            f"effective changes, {name}", rounds, effective_changes, state(before), state(after)
        )


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--acls", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="5,000 ACLs")
    chosen = parser.parse_args()
    measure_questions(5_000 if chosen.quick else chosen.acls, chosen.rounds)


if __name__ == "__main__":
    main()
