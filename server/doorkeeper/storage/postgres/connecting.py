"""Connections to a shared store, as the configuration describes it.

``asyncpg`` is the extra ``postgres``: it is imported here when somebody connects.
"""

from __future__ import annotations

import ssl
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.config.shared_store import password_in
from doorkeeper.state.store import StorageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    import asyncpg

    from doorkeeper.config.shared_store import SharedStore

INSTALL: Final = "pip install 'doorkeeper[postgres]'"
APPLICATION: Final = "doorkeeper"
"""What ``pg_stat_activity`` calls us where the URL gives no other name."""


def connector(store: SharedStore) -> Callable[[], Awaitable[asyncpg.Connection]]:
    """Return what opens a connection to the primary; a password in a file is read each time.

    Raises:
        StorageError: the extra is not installed, or a file of TLS is of no use.

    """
    try:
        import asyncpg  # noqa: PLC0415 - the extra postgres
    except ImportError as error:
        raise StorageError(
            f"doorkeeper.store: a shared store needs the extra postgres: {INSTALL}"
            f" ({error.name or error} is missing)"
        ) from error
    _check_files(store)
    from doorkeeper.storage.postgres.reaching import reached  # noqa: PLC0415 - imports it at once

    return partial(reached, asyncpg.connect, store, _arguments(store))


@asynccontextmanager
async def connection_to(store: SharedStore) -> AsyncIterator[asyncpg.Connection]:
    """Connect for as long as a command takes; what the store refuses is an error with its name.

    Raises:
        StorageError: it cannot be reached, or refuses something.

    """
    connect = connector(store)
    import asyncpg  # noqa: PLC0415 - the extra postgres, which is there by now

    from doorkeeper.storage.postgres.losing import LOST, ended  # noqa: PLC0415 - imports it at once

    try:
        connection = await connect()
        try:
            yield connection
        finally:
            await ended(connection)
    except (*LOST, asyncpg.PostgresError) as error:
        text = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, TimeoutError) and not str(error):
            within_s = store.statement_timeout_ms / 1000
            text = f"no answer within {within_s:g} s; another session may have locked the tables"
        raise StorageError(f"{store.shown}: {text}") from error


def _arguments(store: SharedStore) -> dict[str, Any]:
    password: object = store.password and str.__str__(store.password)
    if store.password_file is not None:
        password = partial(_password_in, store.password_file)
    words: dict[str, Any] = {
        "password": password,
        "command_timeout": store.statement_timeout_ms / 1000,
        "target_session_attrs": "read-write",
    }
    if "application_name=" not in store.urls[0]:
        words["server_settings"] = {"application_name": APPLICATION}
    return words


def _password_in(file: Path) -> str:
    """Return what the file holds by now.

    Raises:
        OSError: it holds none by now; a connection is lost by that, and tried again.

    """
    try:
        return password_in(file)
    except UnicodeDecodeError as error:
        raise OSError(f"{file}: the file is not UTF-8") from error


def _check_files(store: SharedStore) -> None:
    """Refuse files of TLS that cannot be used, by their names; asyncpg's error has none.

    Raises:
        StorageError: one of them is not what it must be.

    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    files = store.files
    for name in ("sslrootcert", "sslcrl"):
        if name in files:
            _or_refuse(store, name, partial(context.load_verify_locations, cafile=files[name]))
    if "sslcert" in files:
        # With a password of none OpenSSL would ask at the terminal.
        load = partial(context.load_cert_chain, files["sslcert"], files["sslkey"], lambda: "")
        _or_refuse(store, "sslcert and sslkey", load)


def _or_refuse(store: SharedStore, name: str, use: Callable[[], object]) -> None:
    try:
        use()
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        paths = ", ".join(str(store.files[each]) for each in name.split(" and "))
        why = "expected is PEM" if isinstance(error, ssl.SSLError) else error
        raise StorageError(f"doorkeeper.store: {name}: {paths}: cannot be used: {why}") from error
