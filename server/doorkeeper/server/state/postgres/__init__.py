"""The shared store: a PostgreSQL database of several nodes.

Raises:
    StorageError: on import, where the extra ``postgres`` is not installed.
"""

from __future__ import annotations

from doorkeeper.server.state.store import StorageError

# Checked for all modules here, so that no command ends with a traceback of one of them.
try:
    import asyncpg  # noqa: F401
except ImportError as error:
    raise StorageError(
        "doorkeeper.store: a shared store requires the extra postgres: "
        f"pip install 'doorkeeper[postgres]' ({error.name or error} is missing)"
    ) from error
