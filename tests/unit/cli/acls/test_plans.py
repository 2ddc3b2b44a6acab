"""Plans: printed, kept in files, and applied."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from doorkeeper.acls.entities.model import EntitySet, TopicEntity
from doorkeeper.acls.entities.plan import EntityChange, EntityPlan
from doorkeeper.acls.formats.names import FormatError
from doorkeeper.acls.formats.records import record_of_changes
from doorkeeper.acls.live_changes import LiveCluster
from doorkeeper.acls.model import AclOperation
from doorkeeper.acls.plan import Plan
from doorkeeper.acls.plan_application import BATCH
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.cli.acls.change_rules import Acceptance
from doorkeeper.cli.acls.entities import EntityPlanner
from doorkeeper.cli.acls.plan_files import document_of_plan, plan_of
from doorkeeper.cli.acls.plans import Side, apply_plan
from doorkeeper.cli.repositories.addresses import parse_address
from doorkeeper.cli.repositories.errors import RepositoryError
from doorkeeper.cli.repositories.repository import AclContents, AclRepository
from doorkeeper.cli.repositories.sessions import ClusterSession, Listing
from testkit.acl import PREFIXED, READ, allow, deny, topic
from testkit.interrupts import pythons_own_handler

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from doorkeeper.acls.entities.model import Entity
    from doorkeeper.acls.model import AclBinding, AclBindingFilter

A, B = allow("a", READ, topic("t")), deny("b,c", READ, topic("u", PREFIXED), "10.0.0.1")
TARGET = Side("config:x", 7, "config:x")
WANTED = Side("acls.yaml", None, "acls.yaml")
CHANGE = Plan((A,), (B,), unchanged=3, foreign=2)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"version": 2}, "found 2; expected: a plan: a mapping with version 1"),
        ({"more": 1}, "found ['version', 'added', 'removed', 'kept', 'foreign', 'more'"),
        ({"place": 3}, "place: found 3; expected: a string"),
        ({"kept": "3"}, "kept, foreign: found ('3', 2); expected: whole numbers"),
        ({"removed": [{"name": "x"}]}, "removed: acl 1: missing: resourceType"),
    ],
)
def test_invalid_plan_is_rejected(changed: dict[str, object], error: str) -> None:
    document = record_of_changes(CHANGE) | changed

    with pytest.raises(FormatError) as refused:
        plan_of(json.dumps(document))

    assert str(refused.value).startswith(error)


def test_plan_that_adds_and_removes_the_same_acl_is_rejected() -> None:
    with pytest.raises(FormatError, match="both contain User:a,TOPIC,LITERAL,t,READ,ALLOW"):
        plan_of(json.dumps(document_of_plan(replace(CHANGE, removed=(A, B)), TARGET, WANTED)))


MANY = tuple(allow("a", READ, topic(f"t-{n:04}")) for n in range(3 * BATCH))


class FakeRepository(AclRepository, ClusterSession):
    """A repository that takes some portions, and then something else happens."""

    def __init__(
        self,
        portions: int = 9,
        then: Callable[[], object] = lambda: None,
        *,
        present: Sequence[AclBinding] = (),
        refused: AclBinding | None = None,
    ) -> None:
        self.address = parse_address("kafka://localhost:9092")
        self.description = "a test"
        self.created: list[bool] = []
        self._portions, self._then = portions, then
        self._present, self._refused = list(present), refused
        self.deleted = set()

    async def read(self) -> AclContents:
        return AclContents(self._present)

    async def listing(self, filters: Sequence[AclBindingFilter] = ()) -> Listing:
        return Listing(self._present, frozenset())

    @asynccontextmanager
    async def change(self, *, create: bool = False) -> AsyncIterator[ClusterSession]:
        self.created.append(create)
        yield self

    async def live_cluster(self, present: AbstractSet[AclBinding], plan: Plan) -> LiveCluster:
        return LiveCluster()

    async def own_credential(self) -> None:
        return None

    async def add(self, bindings: Sequence[AclBinding]) -> list[ApiError | None]:
        if not self._portions:
            self._then()
            await asyncio.Event().wait()
        self._portions -= 1
        refusal = ApiError(ErrorCode.POLICY_VIOLATION, "no")
        return [refusal if each == self._refused else None for each in bindings]

    async def remove_matching(self, filters: Sequence[AclBindingFilter]) -> list[ApiError | None]:
        return await self.add([MANY[0]] * len(filters))


def run(repository: FakeRepository, plan: Plan, *, dry_run: bool = False) -> None:
    apply_plan(repository, lambda _present: plan, Acceptance(), dry_run=dry_run, asks=False)


def test_ctrl_c_reports_progress(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(SystemExit) as end, pythons_own_handler():
        run(FakeRepository(2, interrupt), Plan(MANY, (), 0, 0))

    assert end.value.code == 130
    assert capsys.readouterr().err == (
        "doorkeeper: interrupted; at least 2000 of 3000 changes were made; run the same command"
        " again to make the rest\n"
    )


def test_each_failed_item_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        run(FakeRepository(refused=MANY[0]), Plan(MANY[:2], (), 0, 0))

    assert end.value.code == 1
    assert capsys.readouterr().err == (
        "doorkeeper: 1 added, 0 removed\n"
        "doorkeeper: adding User:a,TOPIC,LITERAL,t-0000,READ,ALLOW,*: no\n"
    )


def test_refused_changes_are_not_counted_as_made(capsys: pytest.CaptureFixture[str]) -> None:
    """The target refuses one of the first portion, and is lost in the second."""

    def lose() -> None:
        raise RepositoryError("the connection is lost")

    with pytest.raises(SystemExit) as end:
        run(FakeRepository(1, lose, refused=MANY[7]), Plan(MANY, (), 0, 0))

    assert end.value.code == 1
    assert capsys.readouterr().err == (
        "doorkeeper: the connection is lost\n"
        "doorkeeper: at least 999 of 3000 changes were made; run the same command again to make"
        " the rest\n"
        "doorkeeper: adding User:a,TOPIC,LITERAL,t-0007,READ,ALLOW,*: no\n"
    )


def test_refused_topics_are_not_counted_as_made(capsys: pytest.CaptureFixture[str]) -> None:
    creations = tuple(EntityChange(None, TopicEntity(name, 3)) for name in ("one", "two"))

    class RefusesTopics(FakeRepository):
        async def entities(self, wanted: EntitySet) -> list[Entity]:
            return []

        async def alter_entities(
            self, changes: Sequence[EntityChange], passwords: Mapping[str, str]
        ) -> list[ApiError | None]:
            return [None, ApiError(ErrorCode.POLICY_VIOLATION, "no")]

    def interrupt() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    planner = EntityPlanner(EntitySet((TopicEntity("one", 3),)), lambda _: EntityPlan(creations))
    with pytest.raises(SystemExit) as end, pythons_own_handler():
        apply_plan(
            RefusesTopics(0, interrupt),
            lambda _present: Plan(MANY[:1], (), 0, 0),
            Acceptance(),
            dry_run=False,
            asks=False,
            planner=planner,
        )

    assert end.value.code == 130
    refused, interrupted = capsys.readouterr().err.splitlines()
    assert refused.startswith("doorkeeper: + topic two: 3 partitions")
    assert refused.endswith(": no")
    assert "at least 1 of 3 changes were made" in interrupted


def test_topics_are_not_deleted_after_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    removal = EntityChange(TopicEntity("old", 3), None)

    class WithTopic(FakeRepository):
        async def entities(self, wanted: EntitySet) -> list[Entity]:
            return [TopicEntity("old", 3)]

        async def alter_entities(
            self, changes: Sequence[EntityChange], passwords: Mapping[str, str]
        ) -> list[ApiError | None]:
            raise AssertionError("the topic is deleted")

    wanted = EntitySet((TopicEntity("new", 1),))
    planner = EntityPlanner(wanted, lambda _present: EntityPlan((removal,)))
    acls = Plan(MANY[:2], (), 0, 0)

    with pytest.raises(SystemExit) as end:
        apply_plan(
            WithTopic(refused=MANY[0]),
            lambda _present: acls,
            Acceptance(),
            dry_run=False,
            asks=False,
            planner=planner,
        )

    assert end.value.code == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        "doorkeeper: - topic old: 3 partitions with all their records: not removed, because"
        " earlier changes failed"
    )


def test_dry_run_does_not_lock_the_store(capsys: pytest.CaptureFixture[str]) -> None:
    repository = FakeRepository(present=MANY[:1])
    repository.address = parse_address("store:data")

    run(repository, Plan(MANY[:1], (), 3, 0), dry_run=True)
    assert repository.created == []
    run(repository, Plan(MANY[:1], (), 3, 0))

    assert repository.created == [True]
    assert capsys.readouterr().out.count("Plan: 1 to add") == 2


def test_acls_with_unknown_codes_are_not_planned(capsys: pytest.CaptureFixture[str]) -> None:
    unknown = B._replace(entry=B.entry._replace(operation=AclOperation(0)))
    planned: list[list[AclBinding]] = []

    def make_plan(contents: AclContents) -> Plan:
        planned.append(contents.bindings)
        return Plan((), (), 0, 0)

    target = FakeRepository(present=[A, unknown])
    apply_plan(target, make_plan, Acceptance(), dry_run=False, asks=False)

    assert planned == [[A]]
    assert (
        "1 ACLs of the cluster are omitted and left unchanged: they have" in capsys.readouterr().err
    )
