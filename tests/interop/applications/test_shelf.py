"""The shelf of learned roles: each is what its program needs on a broker 4.3.1, and no more.

A program works if it has done the work that its function in ``testkit.shelf_programs`` waits for.
It fails if it has ended or given up before, or is not done as long after the first refusal as the
whole work took with all ACLs; and the broker's log has a refusal of the kind that is left out.
"""

from __future__ import annotations

import asyncio
import time
from fnmatch import fnmatchcase
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

import pytest

from doorkeeper.acls.model import PatternType
from doorkeeper.acls.operations import satisfied_by
from testkit.applications import set_acls
from testkit.kafka_target import kafka_target
from testkit.or_skip import or_skip
from testkit.shelf import MAY_ALL, SHELF, Cluster, NotDone, Stage, learned, role
from testkit.shelf_programs import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from doorkeeper.acls.model import AclBinding
    from testkit.oracle_totals import Totals
    from testkit.shelf import Program

USER = "alice"
PRINCIPAL = f"User:{USER}"
QUICK = ("kcat",)
GRACE_S = 15.0


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[int], list[Cluster]]]:
    """Give as many brokers as a program needs; their logs have each decision."""
    running: list[Cluster] = []

    def give(number: int) -> list[Cluster]:
        while len(running) < number:
            log = tmp_path_factory.mktemp("broker") / "kafka-authorizer.log"
            running.append(Cluster(or_skip(partial(kafka_target, authorizer_log=log)), log))
        return running[:number]

    yield give
    for each in running:
        each.target.close()


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
        stage = self._stage([MAY_ALL] * len(self.roles), self._names(), None)
        or_skip(lambda: self._program.run(stage))
        return stage.names, [learned(stage, at) for at in range(len(self.roles))]

    def run(
        self, without: tuple[int, int] | None = None, grace_s: float | None = None
    ) -> tuple[str, list[str]]:
        """Run with the ACLs of the shelf, but one; return what was not done, and the refusals.

        The ACL that is left out is named by its cluster and its place.
        """
        names = self._names()
        acls = [each.bindings(PRINCIPAL, names) for each in self.roles]
        if without is not None:
            del acls[without[0]][without[1]]
        stage = self._stage(acls, names, grace_s)
        try:
            self._program.run(stage)
        except NotDone as reason:
            return str(reason), stage.refusals()
        return "", stage.refusals()

    def _names(self) -> dict[str, str]:
        number = next(self._numbers)
        return {
            word: name if word in self._program.fixed else f"{name}{number}"
            for each in self.roles
            for word, name in each.names().items()
        }

    def _stage(
        self,
        acls: Sequence[Sequence[AclBinding]],
        names: Mapping[str, str],
        grace_s: float | None,
    ) -> Stage:
        for cluster, bindings in zip(self._clusters, acls, strict=True):
            asyncio.run(set_acls(cluster.target.plain, bindings))
        folder = self._folder / str(next(self._numbers))
        gives_up = self._program.gives_up
        return Stage(self._clusters, USER, names, folder, gives_up=gives_up, grace_s=grace_s)


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


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=() if each in QUICK else pytest.mark.slow) for each in PROGRAMS],
)
def test_a_learned_role(
    name: str, clusters: Callable[[int], list[Cluster]], tmp_path: Path, totals: Totals
) -> None:
    """It is what ``learn`` finds; the program works with it, and without any one ACL it fails."""
    program = PROGRAMS[name]
    bench = Bench(program, clusters(len(program.files)), tmp_path)

    names, found_at = bench.learn()

    for each, found in zip(bench.roles, found_at, strict=True):
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
    began = time.monotonic()
    missing, refusals = bench.run()
    took_s = time.monotonic() - began
    assert not missing, (missing, refusals)
    for at, each in enumerate(bench.roles):
        for place, acl in enumerate(each.bindings(PRINCIPAL, names)):
            missing, refusals = bench.run((at, place), GRACE_S + took_s)
            assert missing, f"not needed: {acl}"
            resource = f"{acl.pattern.resource_type.name.title()}:LITERAL:"
            assert any(resource in refusal for refusal in refusals), (acl, refusals, missing)
            totals.compared["ACLs of learned roles, each needed by its program"] += 1
    totals.compared["programs with their learned roles on a broker 4.3.1"] += 1


def test_each_file_has_a_program() -> None:
    """No role stands on the shelf that is not learned here."""
    assert sorted(file for program in PROGRAMS.values() for file in program.files) == sorted(
        path.stem for path in SHELF.glob("*.yaml")
    )
