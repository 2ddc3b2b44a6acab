"""The pages, in the order of the menu."""

from __future__ import annotations

from doorkeeper.console.pages import (
    broker,
    change,
    drift,
    grants,
    history,
    learn,
    matrix,
    review,
    task,
    what_can,
    what_if,
    who_can,
    whoami,
    why,
)

_OF_ONE_SET = (who_can, what_can, matrix, why, task, what_if, review, history)
_OF_SETS_AND_FILES = (drift, change, grants, whoami, broker, learn)

PAGES = tuple(module.PAGE for module in (*_OF_ONE_SET, *_OF_SETS_AND_FILES))
