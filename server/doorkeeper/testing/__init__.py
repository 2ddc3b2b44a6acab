"""Servers for tests of code that works with Kafka's ACLs. Public and stable: docs/testing.md.

DoorkeeperServer    in the test's process, ready in milliseconds, with faults on demand
DoorkeeperProcess   a process of its own, with its store on disk
plugin              the fixtures of pytest
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doorkeeper.testing.process import DoorkeeperProcess
    from doorkeeper.testing.server import DoorkeeperServer

__all__ = ["DoorkeeperProcess", "DoorkeeperServer"]


def __getattr__(name: str) -> object:
    """Import a name when it is asked for: every run of pytest imports the plugin beside it."""
    from doorkeeper.testing.importing import undisturbed  # noqa: PLC0415

    with undisturbed():
        if name == "DoorkeeperProcess":
            from doorkeeper.testing.process import DoorkeeperProcess  # noqa: PLC0415

            return DoorkeeperProcess
        if name == "DoorkeeperServer":
            from doorkeeper.testing.server import DoorkeeperServer  # noqa: PLC0415

            return DoorkeeperServer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
