"""Importing without what makes it slow in a test's process."""

from __future__ import annotations

import gc
import sys
from importlib import import_module

import pytest

from doorkeeper.testing.fast_imports import REWRITES_ASSERTIONS, fast_imports


def hooks() -> list[object]:
    """Return pytest's own among the finders."""
    return [hook for hook in sys.meta_path if type(hook).__module__ == REWRITES_ASSERTIONS]


def test_pytest_and_the_collector_are_back_afterwards() -> None:
    """Within the block neither is there; afterwards all is as before, the order too."""
    before = list(sys.meta_path)
    assert hooks(), "pytest rewrites assertions in this run"

    with fast_imports():
        within = (hooks(), gc.isenabled())

    assert within == ([], False)
    assert sys.meta_path == before
    assert gc.isenabled()


def test_an_error_changes_nothing_of_that() -> None:
    """What cannot be imported leaves the process as it was."""
    before = list(sys.meta_path)

    with pytest.raises(ModuleNotFoundError), fast_imports():
        import_module("a_module_that_nobody_has")

    assert sys.meta_path == before
    assert gc.isenabled()


def test_who_collects_by_hand_goes_on_so() -> None:
    """A process without the collector does not get it."""
    gc.disable()
    try:
        with fast_imports():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
