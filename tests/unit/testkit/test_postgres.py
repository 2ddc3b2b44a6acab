"""The PostgreSQL of tests does what the suites need of it."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import asyncpg
import pytest

from testkit import certificates, postgres
from testkit.kafka_jars import Unavailable, cannot
from testkit.postgres import OWNER, Postgres

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from testkit.postgres import Database

pytestmark = pytest.mark.interop


@pytest.fixture
def started() -> Iterator[Callable[..., Postgres]]:
    """Start servers of a test's own."""
    opened: list[Postgres] = []

    def start(**words: object) -> Postgres:
        try:
            opened.append(Postgres(**words))  # type: ignore[arg-type]  # passed through
        except Unavailable as missing:
            cannot(str(missing))
        opened[-1].start()
        return opened[-1]

    yield start
    for each in opened:
        each.close()


async def value(url: str, statement: str = "SELECT 1", **words: object) -> object:
    connection = await asyncpg.connect(url, timeout=10, **words)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


async def test_each_test_gets_an_empty_database_of_its_own(
    postgres_server: Postgres, database: Database
) -> None:
    """Two databases have different names, their role owns them, and it is no superuser."""
    other = postgres_server.create_database()

    assert other.name != database.name
    assert (
        await value(database.url(), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
        == 0
    )
    assert await value(database.url(), "SELECT current_user") == OWNER
    assert not await value(
        database.url(), "SELECT usesuper FROM pg_user WHERE usename = current_user"
    )
    assert await value(database.url(), "SHOW fsync") == "on"
    other.drop()


@pytest.mark.parametrize("how", [signal.SIGQUIT, signal.SIGINT, None])
async def test_it_comes_back_on_its_port(
    started: Callable[..., Postgres], how: signal.Signals | None
) -> None:
    """After an immediate stop, a fast one, or SIGKILL, what was committed is there."""
    server = started()
    database = server.create_database()
    held = await asyncpg.connect(database.url())
    await held.execute("CREATE TABLE kept (number int); INSERT INTO kept VALUES (7)")

    if how is None:
        server.kill()
        server.start()
    else:
        server.restart(how)

    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
        await held.execute("SELECT 1")
    assert await value(database.url(), "SELECT number FROM kept") == 7
    held.terminate()


async def test_backends_of_one_database_are_ended(
    postgres_server: Postgres, database: Database
) -> None:
    """Connections to the database end; those to another one live."""
    other = postgres_server.create_database()
    mine, others = [await asyncpg.connect(each.url()) for each in (database, other)]

    ended = database.terminate_backends()

    assert ended == 1
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
        await mine.execute("SELECT 1")
    assert await others.fetchval("SELECT 1") == 1
    await others.close()
    mine.terminate()
    other.drop()


async def test_it_asks_for_a_password(started: Callable[..., Postgres]) -> None:
    """With a password nobody comes in without it."""
    server = started(password="s3cret/@ä")
    database = server.create_database()

    assert await value(database.url(password="s3cret/@ä")) == 1
    with pytest.raises(asyncpg.InvalidPasswordError):
        await value(database.url(password="other"))


async def test_it_takes_tls_and_certificates_of_clients(
    started: Callable[..., Postgres], tmp_path: Path
) -> None:
    """A client without TLS, or without the role's certificate, stays outside."""
    world = certificates.world()
    server = started(authority=world.authority, client_certificates=True)
    database = server.create_database()
    mine = world.authority.certify(("CN", OWNER))
    files = {"ca": world.authority.pem, "crt": mine.chain_pem, "key": mine.key_pem()}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    trust = {"sslmode": "verify-full", "sslrootcert": str(tmp_path / "ca")}
    own = {"sslcert": str(tmp_path / "crt"), "sslkey": str(tmp_path / "key")}

    statement = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
    assert await value(database.url({**trust, **own}), statement) is True
    with pytest.raises(asyncpg.InvalidAuthorizationSpecificationError):
        await value(database.url(trust))
    with pytest.raises(asyncpg.InvalidAuthorizationSpecificationError):
        await value(database.url({"sslmode": "disable"}))


def test_it_leaves_nothing_behind(started: Callable[..., Postgres]) -> None:
    """After close the postmaster is gone, and so is its folder."""
    server = started()
    process = server._process
    assert process is not None

    server.close()

    assert process.poll() is not None
    assert not server.folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


def test_a_statement_that_fails_says_why(database: Database) -> None:
    """What psql says comes with the error."""
    with pytest.raises(RuntimeError, match='relation "nothing" does not exist'):
        database.execute("SELECT * FROM nothing")


def test_without_the_package_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where PostgreSQL is not installed the reason is in the error."""
    monkeypatch.setattr(postgres, "programs", lambda: None)

    with pytest.raises(Unavailable, match="not installed"):
        Postgres()


def test_a_server_that_cannot_start_shows_its_log(
    started: Callable[..., Postgres], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A port that is taken is in the error's text."""
    server = started()
    server.stop()
    monkeypatch.setattr(postgres, "_READY_S", 1)
    server._settings["shared_buffers"] = "nonsense"

    with pytest.raises(RuntimeError, match="shared_buffers"):
        server.start()
