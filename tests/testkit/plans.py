"""What the update of a handler submits: the change and the result of its plan, which runs twice."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, NamedTuple

from doorkeeper.base.slices import run_to_end
from doorkeeper.server.state.state import EMPTY
from doorkeeper.server.state.submissions import CompletedPlan

if TYPE_CHECKING:
    from doorkeeper.server.schema.change import Change, Origin
    from doorkeeper.server.state.state import State
    from doorkeeper.server.state.submissions import Plan


def run_twice(plan: Plan[Any], state: State) -> tuple[Change, Any]:
    """Run a plan as when another node has committed first; both runs must be the same."""
    first, second = _run(plan, state), _run(plan, state)
    # As texts: equal errors are not equal objects.
    assert repr(first) == repr(second)
    return second


def _run(plan: Plan[Any], state: State) -> tuple[Change, Any]:
    planned = plan(state)
    return run_to_end(planned) if isinstance(planned, Generator) else planned


class PlanLog:
    """Takes the place of the state log: plans on one state, twice, and stores nothing."""

    def __init__(self, state: State = EMPTY) -> None:
        self.state = state
        self.change: Change = {}

    def submit(self, plan: Plan[Any], _origin: Origin) -> asyncio.Future[Any]:
        """Plan a change."""
        self.change, result = run_twice(plan, self.state)
        completed: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        completed.set_result(CompletedPlan(self.state.revision, result))
        return completed


class PlanServices(NamedTuple):
    """Services of which only the log is used."""

    log: PlanLog


async def planned(update: Any, state: State = EMPTY) -> tuple[Change, Any]:
    """Return the change that an update submits, and its result."""
    log = PlanLog(state)
    result = await update.apply(PlanServices(log))
    return log.change, result


class RecordingServices:
    """Services that record what they are asked; they change nothing, and return ``result``."""

    def __init__(self, result: Any = None) -> None:
        self.result = result
        self.asked: list[Any] = []
        self.tokens = self

    async def change(self, wish: Any, _context: Any) -> Any:
        """Record what a token shall become; an error as the result is raised."""
        self.asked.append(wish)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result

    async def alter_configs(self, resources: Any, _context: Any, *, validate_only: bool) -> Any:
        """Record the altered resources, and whether they are validated only."""
        self.asked += [*resources, validate_only]
        return self.result
