"""Servers for tests of code that works with Kafka's ACLs. Public and stable: docs/testing.md.

DoorkeeperServer    in the test's process, ready in milliseconds, with faults on demand
plugin              the fixtures of pytest
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doorkeeper.testing.server import DoorkeeperServer

__all__ = ["DoorkeeperServer"]


def __getattr__(name: str) -> object:
    """Import a name when it is asked for: every run of pytest imports the plugin beside it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from doorkeeper.testing.server import DoorkeeperServer  # noqa: PLC0415

    return DoorkeeperServer
