"""Carrying a plan out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.acls import plan_application
from doorkeeper.acls.live_changes import Rule
from doorkeeper.acls.plan import plan
from doorkeeper.acls.plan_application import Failed, Outcome, Rules, apply
from doorkeeper.base.errors import ApiError, ErrorCode
from testkit.acl import READ, allow, deny, topic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.acls.model import AclBinding

REFUSED = ApiError(ErrorCode.INVALID_REQUEST, "no")
A, B, C, D = (allow(name, READ, topic("t")) for name in "abcd")


class Hand:
    """Keeps what it is asked; refuses one binding, and breaks at another."""

    def __init__(
        self, *, refused: AclBinding | None = None, breaks: AclBinding | None = None
    ) -> None:
        self.asked: list[tuple[str, tuple[AclBinding, ...]]] = []
        self._refused, self._breaks = refused, breaks

    async def add(self, bindings: Sequence[AclBinding]) -> Sequence[ApiError | None]:
        return self._do("add", bindings)

    async def remove(self, bindings: Sequence[AclBinding]) -> Sequence[ApiError | None]:
        return self._do("remove", bindings)

    def _do(self, what: str, bindings: Sequence[AclBinding]) -> list[ApiError | None]:
        if self._breaks in bindings:
            raise ConnectionError("the server is gone")
        self.asked.append((what, tuple(bindings)))
        return [REFUSED if each == self._refused else None for each in bindings]


async def test_additions_are_sent_first_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_application, "BATCH", 2)
    target = Hand(refused=B)
    batches: list[tuple[int, list[Failed]]] = []

    outcome = await apply(
        plan([D], [A, B, C]),
        target,
        [D],
        Rules(),
        lambda made, refused: batches.append((made, list(refused))),
    )

    assert target.asked == [("add", (A, B)), ("add", (C,)), ("remove", (D,))]
    assert outcome == Outcome(2, 1, (Failed(B, True, REFUSED),))
    assert batches == [(1, [Failed(B, True, REFUSED)]), (1, []), (1, [])]


async def test_plan_stops_at_unknown_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_application, "BATCH", 1)
    target = Hand(breaks=B)

    with pytest.raises(ConnectionError):
        await apply(plan([D], [A, B]), target, [D], Rules())

    assert target.asked == [("add", (A,))]
    assert (await apply(plan([D, A], [A, B]), Hand(), [D, A], Rules())) == Outcome(1, 1, ())


NOT_A = deny("a", READ, topic("t"))
EVERYONE = allow("*", READ, topic("t"))


@pytest.mark.parametrize(
    ("present", "wanted", "refused", "asked"),
    [
        ([], [EVERYONE, NOT_A], None, [("add", NOT_A), ("add", EVERYONE)]),
        ([], [EVERYONE, NOT_A], NOT_A, [("add", NOT_A)]),
        ([EVERYONE, NOT_A], [], None, [("remove", EVERYONE), ("remove", NOT_A)]),
        ([EVERYONE, NOT_A], [], EVERYONE, [("remove", EVERYONE)]),
        ([EVERYONE], [NOT_A], None, [("add", NOT_A), ("remove", EVERYONE)]),
    ],
)
async def test_no_wider_access_while_applying(
    present: list[AclBinding],
    wanted: list[AclBinding],
    refused: AclBinding | None,
    asked: list[tuple[str, AclBinding]],
) -> None:
    target = Hand(refused=refused)

    outcome = await apply(plan(present, wanted), target, present, Rules())

    assert [(what, each) for what, some in target.asked for each in some] == asked
    assert [each.binding for each in outcome.failed] == ([refused] if refused else [])
    assert [each.rule for each in outcome.held] == ([Rule.ORDER] if refused else [])
