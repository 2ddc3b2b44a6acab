"""Importing without what makes it slow in a test's process."""

from __future__ import annotations

import gc
import sys

from doorkeeper.testing.fast_imports import REWRITES_ASSERTIONS, fast_imports


def hooks() -> list[object]:
    """Return pytest's own among the finders."""
    return [hook for hook in sys.meta_path if type(hook).__module__ == REWRITES_ASSERTIONS]


def test_blocked_imports_are_restored() -> None:
    before = list(sys.meta_path)
    assert hooks(), "pytest rewrites assertions in this run"

    with fast_imports():
        within = (hooks(), gc.isenabled())

    assert within == ([], False)
    assert sys.meta_path == before
    assert gc.isenabled()
