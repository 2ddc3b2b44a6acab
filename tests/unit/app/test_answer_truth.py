"""What remembered answers are true of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.app.answer_truth import AnswerTruth
from doorkeeper.node import Group
from testkit.acl import READ, allow, topic
from testkit.reconfigured import SET, running

if TYPE_CHECKING:
    from pathlib import Path

LISTENER = "PLAINTEXT"
GROUP = Group("g", "Empty", "classic", "consumer", "", ())


async def test_it_is_the_same_until_something_changes(tmp_path: Path) -> None:
    """An ACL, a key and the groups are something."""
    async with running(tmp_path, "") as server:
        assembly = server.assembly
        assert assembly.guarded is not None
        truth = AnswerTruth(assembly.node, assembly.guarded)
        seen = [truth.of(LISTENER)]
        assert truth.of(LISTENER) == seen[0]

        for each in assembly.guarded.create_acls(None, [allow("a", READ, topic("a"))]):
            await each  # type: ignore[misc]  # the standard authorizer's are futures
        seen.append(truth.of(LISTENER))
        assert await server.alter("1", ("max.connections", SET, "5")) == [None]
        seen.append(truth.of(LISTENER))
        assembly.node.use_groups({"g": GROUP})
        seen.append(truth.of(LISTENER))

        assert all(one != other for place, one in enumerate(seen) for other in seen[:place])


async def test_without_an_authorizer_nobody_need_tell(tmp_path: Path) -> None:
    """Everything is allowed then."""
    async with running(tmp_path, "", authorizer="") as server:
        assert AnswerTruth(server.assembly.node, None).of(LISTENER) is not None


async def test_nothing_is_true_where_decisions_are_recorded(tmp_path: Path) -> None:
    """Each of them is wanted."""
    async with running(tmp_path, "") as server:
        guarded = server.assembly.guarded
        assert guarded is not None
        guarded.decided = lambda *_: None

        assert AnswerTruth(server.assembly.node, guarded).of(LISTENER) is None
