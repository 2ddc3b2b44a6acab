"""Importing hundreds of modules in a test's process, without what makes it slow there.

pytest looks at every import, and writes the assertions of a plugin's whole distribution anew: the
server's modules too, though they are no tests. And the collector walks through all that pytest
holds again and again, since importing makes many objects. Together that is half of the time.
"""

from __future__ import annotations

import gc
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

REWRITES_ASSERTIONS: Final = "_pytest.assertion.rewrite"
"""Where pytest's hook comes from."""


@contextmanager
def undisturbed() -> Iterator[None]:
    """Import without pytest's hook and without the collector until the end of the block."""
    hooks = [hook for hook in sys.meta_path if type(hook).__module__ == REWRITES_ASSERTIONS]
    sys.meta_path[:] = [hook for hook in sys.meta_path if hook not in hooks]
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        sys.meta_path[:0] = hooks
        if collecting:
            gc.enable()
