"""Servers for tests of code that works with Kafka's ACLs. Stable: docs/how-to/testing.md.

DoorkeeperServer    in the test's process, ready in milliseconds, with fault injection
DoorkeeperProcess   a process of its own, with its store on disk
plugin              the pytest fixtures
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doorkeeper.testing.process import DoorkeeperProcess
    from doorkeeper.testing.server import DoorkeeperServer

# Imported with the class, so that the first server of a process starts as fast as the next.
_NEEDED_TO_START = ("concurrent.futures.thread", "encodings.idna", "uvloop")
__all__ = ["DoorkeeperProcess", "DoorkeeperServer"]


def __getattr__(name: str) -> object:
    """Import a class on first use: every run of pytest imports this package for the plugin."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with import_module("doorkeeper.testing.fast_imports").fast_imports():
        if name == "DoorkeeperServer":
            for needed in _NEEDED_TO_START:
                with suppress(ImportError):  # uvloop need not be installed
                    import_module(needed)
        module = import_module(f"doorkeeper.testing.{name.removeprefix('Doorkeeper').lower()}")
        return getattr(module, name)
