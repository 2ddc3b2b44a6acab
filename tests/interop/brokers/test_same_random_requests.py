"""Requests at random, in sequences over one state: every answer is the broker's.

A difference is reported with its seed, after the steps before it that do not matter were left out.
"""

import random

import pytest

from testkit.accepted import agreed
from testkit.frame_steps import Step, create, creation
from testkit.pairs import Pair, shown
from testkit.random_requests import RandomRequests
from testkit.side_by_side import CHANGES

STEPS = 40
QUICK = 10
QUICK_WORLDS = 6
SLOW = 200


def first_difference(pair: Pair, steps: tuple[Step, ...]) -> tuple[int, list[str]] | None:
    """Play a sequence; return where it first differs, and how."""
    pair.clear()
    for number, step in enumerate(steps):
        lines = pair.differences(step)
        if lines:
            return number, lines
    return None


def shrunk(pair: Pair, steps: tuple[Step, ...], lines: list[str]) -> list[str]:
    """Leave out, from the end, each earlier step without which the last one still differs."""
    last = steps[-1]
    kept = [step for step in steps[:-1] if type(step.request).__name__.startswith(CHANGES)]
    if first_difference(pair, (*kept, last)) is None:
        return [*(f"{step.user} {step.version} {shown(step.request)}" for step in steps), *lines]
    for step in reversed(tuple(kept)):
        fewer = [other for other in kept if other is not step]
        if first_difference(pair, (*fewer, last)) is not None:
            kept = fewer
    return [*(f"{step.user} {step.version} {shown(step.request)}" for step in kept), *lines]


def compare(pair: Pair, sequences: int) -> None:
    """Compare so many sequences, each with a seed of its own: in the slow form others each run."""
    base = 1 if sequences == QUICK else random.SystemRandom().randrange(10**9)
    for seed in range(base, base + sequences):
        stream = RandomRequests(seed)
        steps = (*stream.world(), *(stream.step() for _ in range(STEPS)))
        found = first_difference(pair, steps)
        if found is not None:
            number, lines = found
            report = shrunk(pair, steps[: number + 1], lines)
            pytest.fail("\n".join([f"seed {seed}, step {number}", *report]))


def test_quick(pair: Pair) -> None:
    """Some hundred exchanges: no difference that is not accepted."""
    compare(pair, QUICK)


@pytest.mark.slow
def test_slow(pair: Pair) -> None:
    """Thousands of exchanges: no difference that is not accepted."""
    compare(pair, SLOW)


@pytest.mark.parametrize("worlds", [QUICK_WORLDS, pytest.param(120, marks=pytest.mark.slow)])
def test_authorized_operations(pair: Pair, worlds: int) -> None:
    """Of random users in random worlds, each API tells the same operations."""
    base = 1 if worlds == QUICK_WORLDS else random.SystemRandom().randrange(10**9)
    for seed in range(base, base + worlds):
        found = first_difference(pair, RandomRequests(seed).masks())
        if found is not None:
            pytest.fail("\n".join([f"seed {seed}", *found[1]]))


def test_accepted_differences_are_needed(pair: Pair) -> None:
    # A change first: an offset of 0 in the metadata log is that of no broker.
    pair.differences(create(creation()))
    for row in pair.accepted:
        pair.clear()
        others = tuple(other for other in pair.accepted if other is not row)
        assert pair.differences(row.witness, others), row.name
        assert not pair.differences(row.witness), row.name


def test_comparison_detects_differences(pair: Pair) -> None:
    pair.clear(("t-one",))
    stream = RandomRequests(1)
    for step in stream.masks():
        answer = pair.ours.ask(step)
        for name, value in answer.items():
            if isinstance(value, int):
                lines = agreed(type(step.request).__name__, answer, {**answer, name: value + 1})
                assert lines == [
                    f"  .{name}: kafka has {value}",
                    f"  .{name}: we have  {value + 1}",
                ]
