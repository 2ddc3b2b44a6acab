"""A server in a process of its own, as in production: its store on disk, its end by a signal.

    with DoorkeeperProcess(users={"alice": "secret"}) as server:
        ...
        server.kill()
        server.restart()  # what was acknowledged is there

A listener of its own, ``TESTING``, tells what it holds; no client of the test is told of it.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from doorkeeper.testing.any_server import AnyServer
from doorkeeper.testing.configuration import CONTROL
from doorkeeper.testing.fork_server import Needs, Wanted
from doorkeeper.testing.forking import FORKING, environment
from doorkeeper.testing.log_lines import LogLines

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from typing import Unpack

    from doorkeeper.acl.decision import Policy
    from doorkeeper.acl.model import AclBinding, AclBindingFilter
    from doorkeeper.acl.snapshot import Snapshot
    from doorkeeper.client import AdminClient, Created, Deleted
    from doorkeeper.testing.configuration import Configuration
    from doorkeeper.testing.distant_faults import DistantFaults
    from doorkeeper.testing.faults import AnyFaults
    from doorkeeper.testing.forked import Forked
    from doorkeeper.testing.options import Options

T = TypeVar("T")

CONTROL_USER: Final = "doorkeeper-testing"
START_S: Final = 60.0
STOP_S: Final = 20.0
_NOT_RUNNING: Final = "the server does not run: use it in a with statement, or start it"
_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"


class DoorkeeperProcess(AnyServer):
    """A server in a process of its own."""

    def __init__(self, **options: Unpack[Options]) -> None:
        """Take what is wanted; ``with``, or ``start``, starts it.

        Raises:
            ValueError: an option's value cannot be.
            TypeError: an option that there is not.

        """
        super().__init__(**options)
        self._process: Forked | None = None
        self._lines: LogLines | None = None
        self._lock = threading.Lock()
        self._faults: DistantFaults | None = None
        self._control = ""
        self._password = secrets.token_hex(16)
        self._used: dict[str, str] = {}

    def start(self) -> None:
        """Start with what it was asked for; return when clients can connect."""
        if self._process is not None:
            return
        FORKING.prepare()
        shutil.rmtree(self._place() / "data", ignore_errors=True)
        self._start(self.configuration)

    def restart(self) -> None:
        """Start again with the store as it is; where it runs, end it in order before.

        The ports are others.
        """
        self._end()
        self._start(None)

    def kill(self) -> None:
        """End it at once, as a power cut would (SIGKILL); ``restart`` goes on with its store."""
        if self._process is not None and self._process.is_ours:
            self._process.kill()
            self._ended()

    def stop(self) -> None:
        """End it in order (SIGTERM); ``start`` begins anew, ``restart`` goes on."""
        self._end()

    def close(self) -> None:
        """End it, and delete what it wrote; in a fork of the test, leave it to the test."""
        if self._process is None or self._process.is_ours:
            super().close()

    @property
    def pid(self) -> int:
        """Return the id of the process."""
        if self._process is None:
            raise RuntimeError(_NOT_RUNNING)
        return self._process.pid

    @property
    def log(self) -> Sequence[dict[str, Any]]:
        """Return the lines that it has logged since it started last: fields by name."""
        return () if self._lines is None else self._lines.lines

    @property
    def faults(self) -> AnyFaults:
        """Return what a test can let go wrong, until the process ends."""
        from doorkeeper.testing.distant_faults import DistantFaults  # noqa: PLC0415  heavy

        if self._process is None:
            raise RuntimeError(_NOT_RUNNING)
        with self._lock:
            self._faults = self._faults or DistantFaults(self._process.control)
            return self._faults

    def acls(self) -> list[AclBinding]:
        """Return all ACLs, sorted."""
        return sorted(self._asked(lambda admin: admin.describe_acls()))

    def _add(self, bindings: Iterable[AclBinding]) -> None:
        _check(*self._asked(lambda admin: admin.create_acls(list(bindings))))

    def _remove(self, filters: Iterable[AclBindingFilter]) -> None:
        _check(*self._asked(lambda admin: admin.delete_acls(list(filters))))

    def _state(self) -> tuple[Policy, Snapshot]:
        from doorkeeper.acl.snapshot import EMPTY  # noqa: PLC0415
        from doorkeeper.authorizer.keys import read_policy  # noqa: PLC0415
        from doorkeeper.authorizer.loading import authorizer_class  # noqa: PLC0415
        from doorkeeper.authorizer.standard import StandardAuthorizer  # noqa: PLC0415

        if authorizer_class(self._used["authorizer.class.name"]) is not StandardAuthorizer:
            raise TypeError(
                "another process's own authorizer cannot be asked; DoorkeeperServer's can"
            )
        return read_policy(self._used), EMPTY.with_added(("", each) for each in self.acls())

    def _asked(self, ask: Callable[[AdminClient], Awaitable[T]]) -> T:
        from doorkeeper.client import AdminClient, ClientConfig, Password  # noqa: PLC0415

        self._listener(None)

        async def work() -> T:
            login = Password("PLAIN", CONTROL_USER, self._password)
            async with AdminClient(ClientConfig(bootstrap=self._control, login=login)) as admin:
                return await ask(admin)

        return asyncio.run(work())

    # --- the process

    def _start(self, beginning: Configuration | None) -> None:
        from doorkeeper.app.errors import StartError  # noqa: PLC0415  of the server

        self._used = self._keys()
        wanted = Wanted(
            keys=self._with_control(self._used),
            # It finds what the test finds: an authorizer of the test's own, this very package.
            environment=environment(),
            module_path=list(filter(None, sys.path)),
            folder=str(self._place()),
            beginning=beginning,
        )
        try:
            forked = FORKING.fork(wanted, _needs(self.configuration))
        except (ConnectionError, TimeoutError) as error:
            raise StartError(f"the process that forks servers: {error}") from error
        self._lines = LogLines(forked.stdout, forked.stderr)
        self._process = forked
        started = self._lines.wait_for("started", START_S)
        if started is None:
            self._process.kill()
            lines = self._lines
            self._ended()
            raise StartError(lines.errors.strip() or f"no server after {START_S:.0f} s")
        addresses = dict(started["listeners"])
        self._control = addresses.pop(CONTROL)
        self._addresses = addresses

    def _end(self) -> None:
        if self._process is None or not self._process.is_ours:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except TimeoutError:
            self._process.kill()
        self._ended()

    def _ended(self) -> None:
        assert self._process is not None, "asked while there is one"
        assert self._lines is not None, "made with the process"
        with suppress(TimeoutError):
            # It has been killed; who tells of its end may be stopped, as a debugger does it.
            self._process.wait(STOP_S)
        self._process.close()
        self._lines.close()
        if self._faults is not None:
            self._faults.close()
        self._faults = None
        self._process = None
        self._addresses = {}

    def _keys(self) -> dict[str, str]:
        defaults = {"doorkeeper.data.dir": str(self._place() / "data")}
        return {**defaults, **super()._keys(), "doorkeeper.log.format": "json"}

    def _with_control(self, keys: dict[str, str]) -> dict[str, str]:
        prefix = f"listener.name.{CONTROL.lower()}"
        login = f'{_PLAIN} required user_{CONTROL_USER}="{self._password}";'
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


def _needs(given: Configuration) -> Needs:
    needs = Needs.TLS if given.encrypts else Needs.NOTHING
    return needs | Needs.CATALOG if given.topics or given.groups or given.catalog else needs


def _check(*results: Created | Deleted) -> None:
    for result in results:
        if result.error is not None:
            raise result.error
