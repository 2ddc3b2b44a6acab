"""What needs a real part: it is used, or the test is skipped with the reason."""

from collections.abc import Callable
from typing import TypeVar

import pytest

from testkit.clients import WrongPython
from testkit.kafka_jars import Unavailable, cannot

Made = TypeVar("Made")


def or_skip(make: Callable[[], Made]) -> Made:
    """Return what is made; skip the test, or fail it in CI, where this machine lacks a part."""
    try:
        return make()
    except WrongPython as reason:
        pytest.skip(str(reason))
    except Unavailable as missing:
        cannot(str(missing))
