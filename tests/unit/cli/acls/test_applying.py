"""Carrying plans out, and what is said when it ends half way."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

import pytest

from doorkeeper.acl.applying import PORTION
from doorkeeper.acl.planning import Plan, PlanError
from doorkeeper.cli.acls import applying as acl_applying
from doorkeeper.cli.acls.applying import carry_out, show_plan
from doorkeeper.cli.acls.places import Changeable, Place
from doorkeeper.cli.acls.sources import SourceError
from doorkeeper.errors import ApiError, ErrorCode
from testkit.acl import READ, allow, topic
from testkit.interrupts import pythons_own_handler

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from doorkeeper.acl.model import AclBinding

PLACE = Place("kafka://localhost:9092")
MANY = tuple(allow("a", READ, topic(f"t-{n:04}")) for n in range(3 * PORTION))


class Target:
    """A place that takes some portions, and then something else happens."""

    def __init__(self, portions: int, then: Callable[[], object]) -> None:
        self.portions = portions
        self.then = then

    async def add(self, bindings: Sequence[AclBinding]) -> list[ApiError | None]:
        if not self.portions:
            self.then()
            await asyncio.Event().wait()
        self.portions -= 1
        return [None] * len(bindings)

    remove = add


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[[Target, Plan], None]:
    """Return what carries a plan out at a target."""

    def run(target: Target, plan: Plan) -> None:
        def at(_place: Place, work: Callable[[Changeable], Awaitable[object]], **_: bool) -> object:
            async def whole() -> object:
                return await work(Changeable([], target))

            return asyncio.run(whole())

        monkeypatch.setattr(acl_applying, "at", at)
        carry_out(PLACE, lambda _present: plan, dry_run=False, asks=False)

    return run


def test_ctrl_c_says_how_much_is_done(
    run: Callable[[Target, Plan], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """And that the same command goes on; the status is that of every interrupted command."""

    def interrupt() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(SystemExit) as end, pythons_own_handler():
        run(Target(2, interrupt), Plan(MANY, (), 0, 0))

    assert end.value.code == 130
    assert capsys.readouterr().err == (
        "doorkeeper: interrupted; 2000 of 3000 changes are done, perhaps some more; the same"
        " command does what is left\n"
    )


def test_a_server_that_is_lost_leaves_as_much(
    run: Callable[[Target, Plan], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """Removals count as additions do."""

    def lose() -> None:
        raise SourceError("connection lost")

    with pytest.raises(SystemExit) as end:
        run(Target(1, lose), Plan((), MANY, 0, 0))

    assert end.value.code == 1
    assert capsys.readouterr().err == (
        "doorkeeper: connection lost\n"
        "doorkeeper: 1000 of 3000 changes are done, perhaps some more; the same command does"
        " what is left\n"
    )


def test_before_it_begins_nothing_was_changed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C while the place is read, or at the question."""

    def at(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(acl_applying, "at", at)

    with pytest.raises(SystemExit) as end:
        carry_out(PLACE, lambda _present: Plan((), (), 0, 0), dry_run=False, asks=True)

    assert end.value.code == 130
    assert capsys.readouterr().err == "doorkeeper: interrupted; nothing was changed\n"


def test_what_is_refused_is_a_line_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others are done and counted."""

    class Refusing:
        async def add(self, bindings: Sequence[AclBinding]) -> list[ApiError | None]:
            return [ApiError(ErrorCode.POLICY_VIOLATION, "no"), *[None] * (len(bindings) - 1)]

        remove = add

    def at(_place: Place, work: Callable[[Changeable], Awaitable[object]], **_: bool) -> object:
        async def whole() -> object:
            return await work(Changeable([], Refusing()))

        return asyncio.run(whole())

    monkeypatch.setattr(acl_applying, "at", at)
    with pytest.raises(SystemExit) as end:
        carry_out(PLACE, lambda _present: Plan(MANY[:2], (), 0, 0), dry_run=False, asks=False)

    assert end.value.code == 1
    assert capsys.readouterr().err == (
        "doorkeeper: 1 added, 0 removed\n"
        "doorkeeper: adding User:a,TOPIC,LITERAL,t-0000,READ,ALLOW,*: no\n"
    )


def test_what_cannot_be_planned_names_the_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are what would make a plan of it."""

    def at(*_: object, **__: object) -> None:
        raise PlanError("2 ACLs would be removed; allowed: 1")

    monkeypatch.setattr(acl_applying, "at", at)
    with pytest.raises(SystemExit):
        carry_out(PLACE, lambda _present: Plan((), (), 0, 0), dry_run=False, asks=True)

    assert "allowed: 1 (--max-removals, --own-prefix" in capsys.readouterr().err


def test_a_plan_is_shown_for_people_and_programs(capsys: pytest.CaptureFixture[str]) -> None:
    """The numbers end the one; the other is an object."""
    plan = Plan(MANY[:1], (), 3, 0)

    show_plan(plan, "table")
    show_plan(plan, "json")

    lines, _, document = capsys.readouterr().out.partition("{")
    assert lines.splitlines()[-1] == "Plan: 1 to add, 0 to remove; 3 stay."
    assert '"kept": 3' in document
