"""The advice about grants, on clusters of which it is known what each grant is for."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import pytest

from synthetic.quarter import quarter_of
from testkit.advice import Advice, advice_on

RECALL_MIN = 0.9
QUICK_SEEDS = (7, 14)
"""Of a log with missing files, from which nothing may be removed, and of a sound one."""
SEEDS = range(1, 101)


@pytest.mark.parametrize("seed", QUICK_SEEDS)
def test_no_wrong_removal_is_proposed(seed: int) -> None:
    found = advice_on(seed)

    assert found.wrong == ()
    assert recall_of([found]) >= RECALL_MIN


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_hundred_clusters(capsys: pytest.CaptureFixture[str]) -> None:
    """The same; prints precision, recall and the time."""
    begin = time.monotonic()
    with ProcessPoolExecutor(
        os.cpu_count(), mp_context=multiprocessing.get_context("spawn")
    ) as processes:
        found = list(processes.map(advice_on, SEEDS))
    scores = [each.unused_score for each in found]
    removed = sum(each.removed for each in scores)
    wrong = sum(len(each.forbidden) for each in scores)
    sound = sum(not quarter_of(seed).fault for seed in SEEDS)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{len(SEEDS)} clusters, {sound} of them with a sound collection:"
            f" {removed - wrong} of {removed} removals are right (precision"
            f" {1 - wrong / max(removed, 1):.1%}), recall {recall_of(found):.1%} of the grants that"
            f" are unused for a quarter, in {time.monotonic() - begin:.0f} s\n"
        )

    assert [line for each in found for line in each.wrong] == []
    assert recall_of(found) >= RECALL_MIN


def recall_of(found: list[Advice]) -> float:
    """Return the share of grants unused for a whole quarter that are proposed for removal.

    Where the collection is not sound there is none.
    """
    unused = sum(each.unused_score.unused for each in found)
    return sum(each.unused_score.unused_removed for each in found) / unused if unused else 1
