"""A PostgreSQL of a test's own: Debian's programs, a temporary folder, a free port of loopback.

It syncs as a real one does. It can be stopped in any way, killed, and started again on its port.
Only processes that were started here are ended. pytest-postgresql and testing.postgresql do less
than the tests need: they cannot run as root, kill and pause the server, or serve TLS.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import quote

from testkit.kafka_broker import free_port
from testkit.kafka_jars import Unavailable, cannot
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from testkit.certificates import Authority

OWNER: Final = "doorkeeper"
"""The role that tests log in as. It owns the databases, and is no superuser."""

_SUPERUSER: Final = "postgres"
_ACCOUNT: Final = "postgres"
"""PostgreSQL refuses to run as root: then it runs as the user that Debian's package makes."""

_READY_S: Final = 60
_COMMAND_S: Final = 60

_SETTINGS: Final = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "80",
    "shared_buffers": "32MB",
    "log_line_prefix": "%m [%p] %d ",
    "timezone": "UTC",
}


def programs() -> Path | None:
    """Return the folder of Debian's newest PostgreSQL; None where there is none."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[4])
    )
    return found[-1].parent if found else None


def account() -> dict[str, Any]:
    """Return what a process needs so that it does not run as root; nothing where we are not.

    Raises:
        Unavailable: we are, and the user that Debian's package makes is missing.

    """
    if os.geteuid() != 0:
        return {}
    try:
        entry = pwd.getpwnam(_ACCOUNT)
    except KeyError as error:
        raise Unavailable(f"no user {_ACCOUNT} for PostgreSQL to run as") from error
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": ()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """One database of a server, empty when it is made."""

    server: Postgres
    name: str

    def url(
        self,
        parameters: Mapping[str, str] | None = None,
        *,
        port: int | None = None,
        password: str | None = None,
    ) -> str:
        """Return what ``doorkeeper.store`` takes; ``port`` may be that of a proxy."""
        return self.server.url(self.name, parameters, port=port, password=password)

    def execute(self, statement: str) -> str:
        """Run SQL as the superuser; return its rows as lines, cells separated by ``|``."""
        return self.server.execute(statement, self.name)

    def terminate_backends(self) -> int:
        """End every connection to this database; return how many there were."""
        return self.server.terminate_backends(self.name)

    def drop(self) -> None:
        """Delete the database; whoever is connected is thrown out."""
        self.server.execute(f'DROP DATABASE IF EXISTS "{self.name}" WITH (FORCE)')


class Postgres:
    """One server; ``start`` returns when it answers, ``close`` leaves nothing behind."""

    def __init__(
        self,
        *,
        password: str | None = None,
        authority: Authority | None = None,
        client_certificates: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Make the files of a server.

        With a ``password`` it asks for SCRAM, else it trusts. With an ``authority`` it takes TLS
        only, and with ``client_certificates`` only clients whose certificate names their role.

        Raises:
            Unavailable: Debian's package is missing.

        """
        found = programs()
        if found is None:
            raise Unavailable("PostgreSQL: not installed (Debian's postgresql; make setup-system)")
        self._programs = found
        self._account = account()
        self._password = password
        self._admin_password = password or "unused"
        self._tls = authority is not None
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = count(1)
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="postgres-"))
        self.data = self.folder / "data"
        self.log = self.folder / "log.txt"
        self._settings = {**_SETTINGS, **(settings or {}), "port": str(self.port)}
        try:
            self._own(self.folder)
            self._make_cluster()
            self._write_rules(client_certificates=client_certificates)
            if authority is not None:
                self._write_certificates(authority)
        except BaseException:
            self.close()
            raise

    @classmethod
    def made_or_skipped(cls) -> Self:
        """Make one that trusts everyone; where it cannot be had, skip the tests that ask."""
        try:
            return cls()
        except Unavailable as missing:
            cannot(str(missing))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    @property
    def is_running(self) -> bool:
        """Whether the postmaster lives."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start on the port that it always has, and wait until it answers.

        After a kill the backends of the one before may take a moment to notice; until then the
        new one refuses to share their memory, and is started again.

        Raises:
            RuntimeError: it does not answer; with the end of its log.

        """
        deadline = time.monotonic() + scaled(_READY_S)
        while time.monotonic() < deadline:
            if not self.is_running:
                self._spawn()
            if self._answers():
                return
            time.sleep(0.05)
        raise RuntimeError(f"PostgreSQL does not answer:\n{self.log.read_text()[-4000:]}")

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """Stop: immediate with SIGQUIT, as a crash; fast with SIGINT; smart with SIGTERM."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(scaled(_COMMAND_S))

    def kill(self) -> None:
        """Kill the postmaster with SIGKILL; its backends end when they notice."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(scaled(_COMMAND_S))

    def pause(self) -> None:
        """Stop all its processes with SIGSTOP: connections stay open, and get no answer."""
        for pid in self._processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let all its processes go on."""
        for pid in self._processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def _processes(self) -> list[int]:
        """Return the postmaster, and its children."""
        assert self._process is not None
        postmaster = self._process.pid
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text()
        return [postmaster, *map(int, children.split())]

    def restart(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """Stop and start again on the same port."""
        self.stop(how)
        self.start()

    def close(self) -> None:
        """End the server and delete its folder."""
        if self.is_running:
            self.stop(signal.SIGQUIT)
        self._process = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def create_database(self) -> Database:
        """Make a database of its own for a test; the role of the tests owns it."""
        name = f"test_{next(self._numbers)}"
        self.execute(f'CREATE DATABASE "{name}" OWNER {OWNER}')
        return Database(server=self, name=name)

    def url(
        self,
        database: str,
        parameters: Mapping[str, str] | None = None,
        *,
        port: int | None = None,
        password: str | None = None,
    ) -> str:
        """Return the URL of a database; ``parameters`` go behind the question mark."""
        login = OWNER if password is None else f"{OWNER}:{quote(password, safe='')}"
        query = "&".join(
            f"{key}={quote(value, safe='/')}" for key, value in (parameters or {}).items()
        )
        ending = f"?{query}" if query else ""
        return f"postgresql://{login}@127.0.0.1:{port or self.port}/{database}{ending}"

    def execute(self, statement: str, database: str = "postgres") -> str:
        """Run SQL as the superuser; return its rows as lines, cells separated by ``|``.

        Raises:
            RuntimeError: it fails; with what psql says.

        """
        done = subprocess.run(
            [self._programs / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", statement],
            env={**os.environ, **self._login(database)},
            capture_output=True,
            text=True,
            timeout=scaled(_COMMAND_S),
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{statement}: {done.stderr}")
        return done.stdout.rstrip("\n")

    def terminate_backends(self, database: str) -> int:
        """End every connection to a database; return how many there were."""
        ended = self.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            f" WHERE datname = '{database}' AND pid <> pg_backend_pid()"
        )
        return int(ended)

    def _login(self, database: str) -> dict[str, str]:
        login = {
            "PGHOST": "127.0.0.1",
            "PGPORT": str(self.port),
            "PGUSER": _SUPERUSER,
            "PGPASSWORD": self._admin_password,
            "PGDATABASE": database,
            "PGCONNECT_TIMEOUT": "10",
        }
        if self._tls:
            certificate, key = self.folder / "admin.crt", self.folder / "admin.key"
            login |= {"PGSSLMODE": "require", "PGSSLCERT": str(certificate), "PGSSLKEY": str(key)}
        return login

    def _answers(self) -> bool:
        """Say whether it takes statements: while it recovers it takes connections only."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                pass
            self.execute("SELECT 1")
        except (OSError, RuntimeError):
            return False
        return True

    def _spawn(self) -> None:
        words = [f"--{name}={value}" for name, value in self._settings.items()]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self.data, *words],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self.folder,
                **self._account,
            )

    def _make_cluster(self) -> None:
        secret = self.folder / "password"
        secret.write_text(self._admin_password)
        self._own(secret)
        words = ("--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync")
        done = subprocess.run(
            [
                self._programs / "initdb",
                f"--pgdata={self.data}",
                f"--username={_SUPERUSER}",
                f"--pwfile={secret}",
                *words,
            ],
            capture_output=True,
            text=True,
            timeout=scaled(_READY_S),
            check=False,
            cwd=self.folder,
            **self._account,
        )
        if done.returncode != 0:
            raise RuntimeError(f"initdb: {done.stdout}{done.stderr}")
        self._single_user(
            f"CREATE ROLE {OWNER} LOGIN PASSWORD '{self._admin_password}'",
        )

    def _single_user(self, statement: str) -> None:
        """Run SQL without a server: the role must be there before anybody may connect."""
        subprocess.run(
            [self._programs / "postgres", "--single", "-D", self.data, "postgres"],
            input=f"{statement}\n",
            capture_output=True,
            text=True,
            timeout=scaled(_COMMAND_S),
            check=True,
            cwd=self.folder,
            **self._account,
        )

    def _write_rules(self, *, client_certificates: bool) -> None:
        kind = "hostssl" if self._tls else "host"
        method = "trust" if self._password is None else "scram-sha-256"
        options = " clientcert=verify-full" if client_certificates else ""
        rules = self.data / "pg_hba.conf"
        rules.write_text(
            f"{kind} all {_SUPERUSER} 127.0.0.1/32 {method}\n"
            f"{kind} all all 127.0.0.1/32 {method}{options}\n"
        )

    def _write_certificates(self, authority: Authority) -> None:
        server, admin = authority.server(), authority.certify(("CN", _SUPERUSER))
        files = {
            "server.crt": server.chain_pem,
            "server.key": server.key_pem(),
            "ca.crt": authority.pem,
        }
        for name, text in files.items():
            path = self.folder / name
            path.write_text(text)
            path.chmod(0o600)
            self._own(path)
        for name, text in (("admin.crt", admin.chain_pem), ("admin.key", admin.key_pem())):
            path = self.folder / name  # psql's, so it stays ours
            path.write_text(text)
            path.chmod(0o600)
        self._settings |= {
            "ssl": "on",
            "ssl_cert_file": str(self.folder / "server.crt"),
            "ssl_key_file": str(self.folder / "server.key"),
            "ssl_ca_file": str(self.folder / "ca.crt"),
        }

    def _own(self, path: Path) -> None:
        if self._account:
            os.chown(path, self._account["user"], self._account["group"])
