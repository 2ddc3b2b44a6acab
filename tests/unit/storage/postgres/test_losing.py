"""What it looks like when the database is lost."""

from __future__ import annotations

import asyncpg

from doorkeeper.storage.postgres.losing import LOST


def test_what_passes_is_told_apart() -> None:
    """A duplicate key is nobody's outage."""
    assert issubclass(asyncpg.CannotConnectNowError, LOST)
    assert issubclass(asyncpg.AdminShutdownError, LOST)
    assert issubclass(asyncpg.exceptions.DiskFullError, LOST)
    assert not issubclass(asyncpg.UniqueViolationError, LOST)
