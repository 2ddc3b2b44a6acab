"""Servers for tests of code that works with Kafka's ACLs. Public and stable: docs/testing.md.

DoorkeeperServer    in the test's process, ready in milliseconds, with faults on demand
DoorkeeperProcess   a process of its own, with its store on disk
plugin              the fixtures of pytest
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doorkeeper.testing.process import DoorkeeperProcess
    from doorkeeper.testing.server import DoorkeeperServer

_NEEDED_TO_START = (
    "concurrent.futures.thread",
    "doorkeeper.app.assembly",
    "doorkeeper.net",
    "doorkeeper.testing.faulty_connection",
    "doorkeeper.testing.log",
    "doorkeeper.testing.loop_thread",
    "doorkeeper.state.memory",
    "encodings.idna",
)
"""Imported with the class, so that the first server of a process starts as fast as the next."""

__all__ = ["DoorkeeperProcess", "DoorkeeperServer"]


def __getattr__(name: str) -> object:
    """Import a name when it is asked for: every run of pytest imports the plugin beside it."""
    from doorkeeper.testing.importing import undisturbed  # noqa: PLC0415

    with undisturbed():
        if name == "DoorkeeperProcess":
            from doorkeeper.testing.forking import FORKING  # noqa: PLC0415

            # What servers need is imported beside, while this process imports what it needs itself.
            FORKING.prepare()
            from doorkeeper.testing.process import DoorkeeperProcess  # noqa: PLC0415

            FORKING.wait()
            return DoorkeeperProcess
        if name == "DoorkeeperServer":
            from doorkeeper.testing.server import DoorkeeperServer  # noqa: PLC0415

            for needed in _NEEDED_TO_START:
                import_module(needed)
            with suppress(ImportError):  # it need not be installed
                import_module("uvloop")
            return DoorkeeperServer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
