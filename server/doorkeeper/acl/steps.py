"""What the last changes touched: the way from an earlier state of the ACLs to a later one.

A state has a step of its own, behind those of the states that it came from:

    state 0     0
    state 1     0 1       made of 0; step 1 names what it touched
    state 2     0 1 2     made of 1
    state 3     0 1 3     made of 1, when 2 had come to nothing

From 0 to 3 the way is what 1 and 3 touched. From 2 to 3 there is none, since 3 was not made of it;
nor is there one from a state so long ago that its step was let go of. Then all ACLs have to be
compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.acl.model import ResourcePattern

STEPS_MAX: Final = 64
"""So many changes may be made until somebody looks again. A change copies as many references."""

PATTERNS_MAX: Final = 4096
"""So many patterns are named by all steps of a state, which keep them in memory."""


class Step:
    """One state, as itself, and the patterns that the change touched which led to it."""

    __slots__ = ("patterns",)

    def __init__(self, patterns: Sequence[ResourcePattern] = ()) -> None:
        """Take what was touched; some may stand there twice, or be as they were before."""
        self.patterns = patterns


Steps = tuple[Step, ...]
"""Those of a state, its own the last."""


def stepped(steps: Steps, touched: Sequence[ResourcePattern]) -> Steps:
    """Return the steps of a state that is made of another one."""
    if len(touched) > PATTERNS_MAX:
        return (Step(),)
    steps = (*steps[-STEPS_MAX + 1 :], Step(touched))
    # What the first one touched is on no way that is still known.
    while sum(len(step.patterns) for step in steps[1:]) > PATTERNS_MAX:
        steps = steps[1:]
    return steps


def touched_since(before: Step, steps: Steps) -> list[ResourcePattern] | None:
    """Return what was touched on the way from a state to another one; None: nobody knows."""
    for at, step in enumerate(steps):
        if step is before:
            return [pattern for later in steps[at + 1 :] for pattern in later.patterns]
    return None
