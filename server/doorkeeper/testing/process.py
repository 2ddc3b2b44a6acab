"""A server in a process of its own, as in production: store on disk, ended by a signal.

    with DoorkeeperProcess(users={"alice": "secret"}) as server:
        ...
        server.kill()
        server.restart()  # acknowledged changes are still there

The additional listener ``TESTING`` gives the test access to its ACLs; clients are not told of it.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import secrets
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import IO, Any, Final, TypeVar, Unpack

from msgspec import DecodeError, json

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.model import AclBinding, AclBindingFilter
from doorkeeper.acls.snapshot import EMPTY, Snapshot
from doorkeeper.client import AdminClient, ClientConfig, Created, Deleted, Password
from doorkeeper.server.app.errors import StartError
from doorkeeper.server.authorizer.loading import authorizer_class
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.authorizer.standard_keys import read_policy
from doorkeeper.testing.any_server import NOT_RUNNING, AnyServer
from doorkeeper.testing.configuration import CONTROL, MODULES, Beginning, Configuration
from doorkeeper.testing.faults import FaultControl
from doorkeeper.testing.options import Options
from doorkeeper.testing.remote_faults import RemoteFaults

T = TypeVar("T")

CONTROL_USER: Final = "doorkeeper-testing"
START_S: Final = 60.0
STOP_S: Final = 20.0


class DoorkeeperProcess(AnyServer):
    """A server in a process of its own."""

    def __init__(self, **options: Unpack[Options]) -> None:
        super().__init__(**options)
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._lines: LogLines | None = None
        self._lock = threading.Lock()
        self._fault_socket: socket.socket | None = None
        self._faults: RemoteFaults | None = None
        self._control = ""
        self._password = secrets.token_hex(16)
        self._used: dict[str, str] = {}

    def start(self) -> None:
        """Start with the initial state; return when clients can connect."""
        if self._process is not None:
            return
        shutil.rmtree(self._place() / "data", ignore_errors=True)
        self._start(self.configuration)

    def restart(self) -> None:
        """Start again with the existing store, after an orderly stop if it runs.

        The ports change.
        """
        self._end()
        self._start(None)

    def kill(self) -> None:
        """Send SIGKILL, like a power cut; ``restart`` continues with its store."""
        if self._process is not None and self._is_ours:
            self._process.kill()
            self._clean_up()

    def stop(self) -> None:
        """Stop with SIGTERM; ``start`` begins with a new store, ``restart`` keeps the store."""
        self._end()

    def close(self) -> None:
        """Stop, and delete all files; in a fork of the test's process, do nothing."""
        if self._process is None or self._is_ours:
            super().close()

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError(NOT_RUNNING)
        return self._process.pid

    @property
    def log(self) -> Sequence[dict[str, Any]]:
        """Return the log lines since the last start: fields by name."""
        return () if self._lines is None else self._lines.lines

    @property
    def faults(self) -> FaultControl:
        """Return the fault injection, valid until the process ends."""
        if self._fault_socket is None or self._process is None:
            raise RuntimeError(NOT_RUNNING)
        with self._lock:
            self._faults = self._faults or RemoteFaults(self._fault_socket)
            return self._faults

    def acls(self) -> list[AclBinding]:
        return sorted(self._call_admin(lambda admin: admin.describe_acls()))

    def _add(self, bindings: Iterable[AclBinding]) -> None:
        _check(*self._call_admin(lambda admin: admin.create_acls(list(bindings))))

    def _remove(self, filters: Iterable[AclBindingFilter]) -> None:
        _check(*self._call_admin(lambda admin: admin.delete_acls(list(filters))))

    def _state(self) -> tuple[Policy, Snapshot]:
        if authorizer_class(self._used["authorizer.class.name"]) is not StandardAuthorizer:
            raise TypeError(
                "the authorizer of another process cannot be queried; use DoorkeeperServer"
            )
        return read_policy(self._used), EMPTY.with_changes(("", binding) for binding in self.acls())

    def _call_admin(self, ask: Callable[[AdminClient], Awaitable[T]]) -> T:
        self._listener(None)

        async def work() -> T:
            login = Password("PLAIN", CONTROL_USER, self._password)
            async with AdminClient(ClientConfig(bootstrap=self._control, login=login)) as admin:
                return await ask(admin)

        return asyncio.run(work())

    # --- the process

    def _start(self, beginning: Configuration | None) -> None:
        self._used = self._keys()
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(  # noqa: S603  ourselves
                [sys.executable, "-P", "-m", "doorkeeper.testing.serving", str(theirs.fileno())],
                # The server must find the test's modules too, such as a plug-in.
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                cwd=self._place(),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        assert process.stdin is not None, "a pipe"
        assert process.stdout is not None, "a pipe"
        assert process.stderr is not None, "a pipe"
        self._process, self._owner, self._fault_socket = process, os.getpid(), ours
        self._lines = LogLines(process.stdout, process.stderr)
        atexit.register(self._end)
        request = Beginning(self._with_control(self._used), beginning)
        # Not in a file: it has passwords. A process that ends before it has read reports why.
        with suppress(BrokenPipeError), process.stdin as stream:
            stream.write(json.encode(request, enc_hook=str))
        started = self._lines.wait_for("started", START_S)
        if started is None:
            process.kill()
            lines = self._lines
            self._clean_up()
            raise StartError(lines.errors.strip() or f"no server after {START_S:.0f} s")
        addresses = dict(started["listeners"])
        self._control = addresses.pop(CONTROL)
        self._addresses = addresses

    @property
    def _is_ours(self) -> bool:
        """Return whether this process started the server, and not a parent that forked this one."""
        return os.getpid() == self._owner

    def _end(self) -> None:
        if self._process is None or not self._is_ours:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._clean_up()

    def _clean_up(self) -> None:
        assert self._process is not None, "asked while there is one"
        assert self._lines is not None, "made with the process"
        assert self._fault_socket is not None, "made with the process"
        atexit.unregister(self._end)
        self._process.wait()
        self._lines.close()
        if self._faults is not None:
            self._faults.close()
        self._fault_socket.close()
        self._faults = None
        self._process = None
        self._addresses = {}

    def _keys(self) -> dict[str, str]:
        defaults = {"doorkeeper.data.dir": str(self._place() / "data")}
        return {**defaults, **super()._keys(), "doorkeeper.log.format": "json"}

    def _with_control(self, keys: dict[str, str]) -> dict[str, str]:
        prefix = f"listener.name.{CONTROL.lower()}"
        login = f'{MODULES["PLAIN"]} required user_{CONTROL_USER}="{self._password}";'
        super_users = f"{keys['super.users']};User:{CONTROL_USER}".lstrip(";")
        return {
            **keys,
            "listeners": f"{keys['listeners']},{CONTROL}://127.0.0.1:0",
            "listener.security.protocol.map": (
                f"{keys['listener.security.protocol.map']},{CONTROL}:SASL_PLAINTEXT"
            ),
            "super.users": super_users,
            f"{prefix}.sasl.enabled.mechanisms": "PLAIN",
            f"{prefix}.plain.sasl.jaas.config": login,
        }


def _check(*results: Created | Deleted) -> None:
    for result in results:
        if result.error is not None:
            raise result.error


class LogLines:
    """Reads a process's output: JSON lines on stdout, any text on stderr."""

    def __init__(self, stdout: IO[bytes], stderr: IO[bytes]) -> None:
        """Start the reading threads."""
        self._streams = (stdout, stderr)
        self._came = threading.Condition()
        self._ended = False
        self.lines: list[dict[str, Any]] = []
        """The log lines so far."""
        self.errors = ""
        """The text on stderr so far."""
        self._readers = [
            threading.Thread(target=work, args=(stream,), daemon=True)
            for work, stream in zip((self._read, self._read_errors), self._streams, strict=True)
        ]
        for reader in self._readers:
            reader.start()

    def wait_for(self, event: str, timeout_s: float) -> dict[str, Any] | None:
        """Return the first line of an event; None at the end of the log, or after the timeout."""
        deadline_s = time.monotonic() + timeout_s
        with self._came:
            while not self._ended:
                for line in self.lines:
                    if line.get("event") == event:
                        return line
                left_s = deadline_s - time.monotonic()
                if left_s <= 0 or not self._came.wait(left_s):
                    return None
        return next((line for line in self.lines if line.get("event") == event), None)

    def close(self) -> None:
        """Read the rest after the process has ended, and close the streams."""
        for reader in self._readers:
            reader.join()
        for stream in self._streams:
            stream.close()

    def _read(self, stream: IO[bytes]) -> None:
        for line in stream:
            try:
                read = json.decode(line)
            except (DecodeError, UnicodeDecodeError):
                # A plug-in may print to stdout.
                read = {"event": line.decode("utf-8", "replace").rstrip()}
            with self._came:
                self.lines.append(read)
                self._came.notify_all()
        with self._came:
            self._ended = True
            self._came.notify_all()

    def _read_errors(self, stream: IO[bytes]) -> None:
        for line in stream:
            self.errors += line.decode("utf-8", "replace")
