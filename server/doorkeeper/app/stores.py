"""The store that a configuration names, opened: the embedded one, or the one that nodes share."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

from doorkeeper.storage.contract import StorageError
from doorkeeper.storage.files import DATABASE_NAME

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.config.settings import Settings
    from doorkeeper.metrics.hooks import StoreMeter
    from doorkeeper.storage.contract import Store

NS_PER_MS: Final = 1_000_000

EARLIER_MS: Final = 1_000
"""A change that waits for a shared store ends so long before its request does, to say why."""


def utc_ms() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // NS_PER_MS


async def opened_store(
    settings: Settings,
    *,
    now_ms: Callable[[], int] = utc_ms,
    make_store: bool = True,
    meter: StoreMeter | None = None,
) -> Store:
    """Open the store; the caller closes it with ``aclose``.

    ``make_store`` says that an embedded store may be made where there is none. An empty database
    that nodes shall share gets its tables in any case.

    Raises:
        StorageError: there is none, it is in use, or it cannot be reached or used.

    """
    if settings.store is not None:
        # Who has no shared store need not have its driver.
        from doorkeeper.storage.postgres.connecting import connector  # noqa: PLC0415
        from doorkeeper.storage.postgres.store import PostgresStore  # noqa: PLC0415

        timeout_ms = settings.update_timeout_ms
        return await PostgresStore.open(
            connector(settings.store),
            name=settings.store.shown,
            node_id=settings.node_id,
            random_bytes=os.urandom,
            timeout_s=(timeout_ms - min(EARLIER_MS, timeout_ms // 10)) / 1000,
            retention_days=settings.change_log_retention_days,
            meter=meter,
        )
    # A server inside a test has no database.
    from doorkeeper.storage.embedded import EmbeddedStore  # noqa: PLC0415

    path = settings.data_dir / DATABASE_NAME
    if not make_store and not path.exists():
        raise StorageError(f"{path}: there is no store; the server's first start makes it")
    return EmbeddedStore.open(
        settings.data_dir,
        now_ms=now_ms,
        random_bytes=os.urandom,
        retention_days=settings.change_log_retention_days,
        meter=meter,
    )
