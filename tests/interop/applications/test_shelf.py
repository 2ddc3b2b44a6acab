"""The shelf of learned roles: each is what its program needs on a broker 4.3.1, and no more.

A program works if it has done the work that its function in ``testkit.shelf_programs`` waits for.
It fails if it has ended or given up before, or is not done as long after the first refusal on the
resource of the ACL that is left out as the whole work took with all ACLs.
"""

from __future__ import annotations

import asyncio
import time
from fnmatch import fnmatchcase
from functools import cache, cached_property, partial
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.acls.model import PatternType
from doorkeeper.acls.operations import satisfied_by
from testkit.applications import set_acls
from testkit.kafka_target import kafka_target
from testkit.or_skip import or_skip
from testkit.shelf import LEARNER, MAY_ALL, SHELF, Cluster, NotDone, Stage, learned, role
from testkit.shelf_programs import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from doorkeeper.acls.model import AclBinding
    from testkit.oracle_totals import Totals
    from testkit.shelf import Program

# kafka-python leaves a socket to the collector if it is closed while it connects.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"
)

USER = "alice"
PRINCIPAL = f"User:{USER}"
QUICK = ("kcat",)
GRACE_S = 15.0


class Bench:
    """What runs a program on brokers, each time with other names."""

    def __init__(self, program: Program, clusters: Sequence[Cluster], folder: Path) -> None:
        self.roles = [role(name) for name in program.files]
        self._program = program
        self._clusters = clusters
        self._folder = folder
        self._numbers = count(1)

    def learn(self) -> tuple[Mapping[str, str], list[list[AclBinding]]]:
        """Return the names of a run, and what was learned at each cluster."""
        stage = self._stage(LEARNER, self._names(), [MAY_ALL] * len(self.roles))
        or_skip(lambda: self._program.run(stage))
        return stage.names, [learned(stage, at) for at in range(len(self.roles))]

    @cached_property
    def took_s(self) -> float:
        """How long the work takes with the ACLs of the shelf, which are enough."""
        began_s = time.monotonic()
        names = self._names()
        stage = self._stage(USER, names, self._acls(names))
        try:
            or_skip(lambda: self._program.run(stage))
        except NotDone as reason:
            pytest.fail(f"{reason}; refused: {stage.refusals()}")
        return time.monotonic() - began_s

    def fails_without(self, at: int, place: int) -> None:
        """Run without an ACL, which is named by its cluster and its place."""
        grace_s, names = GRACE_S + self.took_s, self._names()
        acls = self._acls(names)
        missing = acls[at].pop(place)
        stage = self._stage(USER, names, acls, missing, grace_s)

        with pytest.raises(NotDone):
            self._program.run(stage)

        assert stage.was_refused(missing), (missing, stage.refusals())

    def _names(self) -> dict[str, str]:
        number = next(self._numbers)
        return {
            word: name if word in self._program.fixed else f"{name}{number}"
            for each in self.roles
            for word, name in each.names().items()
        }

    def _acls(self, names: Mapping[str, str]) -> list[list[AclBinding]]:
        return [each.bindings(PRINCIPAL, names) for each in self.roles]

    def _stage(
        self,
        user: str,
        names: Mapping[str, str],
        acls: Sequence[Sequence[AclBinding]],
        missing: AclBinding | None = None,
        grace_s: float = 0,
    ) -> Stage:
        for cluster, bindings in zip(self._clusters, acls, strict=True):
            asyncio.run(set_acls(cluster.target.plain, bindings))
        return Stage(
            self._clusters,
            user,
            names,
            self._folder / str(next(self._numbers)),
            gives_up=self._program.gives_up,
            missing=missing,
            grace_s=grace_s,
        )


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Bench]]:
    """Give the bench of a program; the brokers, whose logs have each decision, are for all."""
    running: list[Cluster] = []

    @cache
    def give(name: str) -> Bench:
        program = PROGRAMS[name]
        while len(running) < len(program.files):
            log = tmp_path_factory.mktemp("broker") / "kafka-authorizer.log"
            running.append(Cluster(or_skip(partial(kafka_target, authorizer_log=str(log))), log))
        return Bench(program, running[: len(program.files)], tmp_path_factory.mktemp(name))

    yield give
    for each in running:
        each.target.close()


def allows(wide: AclBinding, narrow: AclBinding) -> bool:
    """Say whether an ACL of the shelf allows what a learned one allows."""
    pattern, name = wide.pattern, narrow.pattern.name
    same = name.startswith(pattern.name) if is_prefix(wide) else name == pattern.name
    return (
        same
        and pattern.resource_type is narrow.pattern.resource_type
        and satisfied_by(narrow.entry.operation, wide.entry.operation)
    )


def is_prefix(binding: AclBinding) -> bool:
    """Say whether it is for a prefix."""
    return binding.pattern.pattern_type is PatternType.PREFIXED


def text(binding: AclBinding) -> str:
    """Return an ACL as the shelf has what is spared."""
    pattern = binding.pattern
    return f"{binding.entry.operation.name} {pattern.resource_type.name} {pattern.name}"


def cases(*of_each: tuple[Any, ...]) -> list[Any]:
    """Return parameters for tests; only those of quick programs are quick."""
    return [
        pytest.param(*each, marks=() if each[0] in QUICK else pytest.mark.slow) for each in of_each
    ]


@pytest.mark.parametrize("name", cases(*((name,) for name in PROGRAMS)))
def test_role_matches_what_is_learned(name: str, bench: Callable[[str], Bench]) -> None:
    names, learned_at = bench(name).learn()

    for each, found in zip(bench(name).roles, learned_at, strict=True):
        shelf, spared = each.bindings(PRINCIPAL, names), each.spared(names)
        unknown = [acl for acl in found if not any(allows(wide, acl) for wide in shelf)]
        for one in unknown:
            assert any(fnmatchcase(text(one), spare) for spare in spared), (
                f"not on the shelf: {one}"
            )
        for spare in spared:
            assert any(fnmatchcase(text(one), spare) for one in unknown), f"not asked: {spare}"
        for acl in shelf:
            others = [wide for wide in shelf if wide != acl]
            assert any(
                allows(acl, one) and not any(allows(wide, one) for wide in others) for one in found
            ), f"learned is nothing that needs {acl}"


@pytest.mark.parametrize("name", cases(*((name,) for name in PROGRAMS)))
def test_program_works_with_its_role(
    name: str, bench: Callable[[str], Bench], totals: Totals
) -> None:
    assert bench(name).took_s

    totals.compared["programs with their learned roles on a broker 4.3.1"] += 1


@pytest.mark.parametrize(
    ("name", "at", "place"),
    cases(
        *(
            (name, at, place)
            for name, program in PROGRAMS.items()
            for at, file in enumerate(program.files)
            for place in range(len(role(file).bindings(PRINCIPAL, role(file).names())))
        )
    ),
)
def test_each_acl_is_needed(
    name: str, at: int, place: int, bench: Callable[[str], Bench], totals: Totals
) -> None:
    """Without it the program fails, and the broker's log has a refusal on its resource."""
    bench(name).fails_without(at, place)

    totals.compared["ACLs of learned roles, each needed by its program"] += 1


def test_each_role_has_a_program() -> None:
    assert sorted(file for program in PROGRAMS.values() for file in program.files) == sorted(
        path.stem for path in SHELF.glob("*.yaml")
    )
