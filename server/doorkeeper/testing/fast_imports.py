"""Fast imports of hundreds of modules in pytest's process.

pytest's import hook rewrites the assertions of a plugin's whole distribution, here of the server's
modules; and the garbage collector repeatedly scans all objects of pytest, since imports allocate
many. Together that is half of the time.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

REWRITES_ASSERTIONS: Final = "_pytest.assertion.rewrite"
"""The module of pytest's import hook."""


@contextmanager
def fast_imports() -> Iterator[None]:
    """Disable pytest's import hook and the garbage collector within the block."""
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
