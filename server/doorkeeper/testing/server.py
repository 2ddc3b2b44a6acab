"""A server inside the test's own process.

    with DoorkeeperServer(users={"alice": "secret"}, acls=[...]) as server:
        admin = KafkaAdminClient(**server.client_config("admin").kafka_python())

It is the real server, over real sockets, in a thread with an event loop of its own; only its store
is in memory. Its log goes to Python's ``logging``.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Collection, Coroutine, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final, TypeVar, Unpack, cast

from doorkeeper.acls.decision import Policy, Question
from doorkeeper.acls.model import (
    ANY_BINDING,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    PatternType,
    Principal,
    ResourcePattern,
)
from doorkeeper.acls.recorded_access import (
    RecordedAccess,
    least_acls,
    missing_acls,
    reasons_text,
    unneeded_acls,
)
from doorkeeper.acls.snapshot import Snapshot
from doorkeeper.base.uuids import random_uuid
from doorkeeper.cli.learn.recorder import Recorder
from doorkeeper.server.app.assembly import Assembly
from doorkeeper.server.app.stores import initial_rows
from doorkeeper.server.authorizer.contract import Action, AuthorizationResult, Authorizer
from doorkeeper.server.authorizer.guard import GuardedAuthorizer
from doorkeeper.server.authorizer.result_checks import CREATION, DELETION
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.config.keys import UPDATE_TIMEOUT_MS
from doorkeeper.server.config.loading import load_values
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.net.loops import new_runner
from doorkeeper.server.operations.logs.pipeline import Logs
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext
from doorkeeper.server.schema.change import Change
from doorkeeper.server.state.memory import MemoryStore
from doorkeeper.server.state.outcome import Results
from doorkeeper.testing.acl_options import bindings_of
from doorkeeper.testing.answers import Answer, operation_of, question_of, resource_of, text_of
from doorkeeper.testing.any_server import NOT_RUNNING, AnyServer
from doorkeeper.testing.configuration import credentials_of, initial_change
from doorkeeper.testing.denials import Denial, Denials, expect
from doorkeeper.testing.fast_imports import fast_imports
from doorkeeper.testing.faults import LocalFaults
from doorkeeper.testing.faulty_connection import FaultyConnection
from doorkeeper.testing.log import TestLogs
from doorkeeper.testing.logins import warn_of_stranger
from doorkeeper.testing.options import Acls, Options, ResourceOption

T = TypeVar("T")

WAIT_S: Final = 60.0
"""Operations of a test take milliseconds; the timeout ends a hanging run."""


class DoorkeeperServer(AnyServer):
    """A server in a thread of this process."""

    def __init__(self, **options: Unpack[Options]) -> None:
        super().__init__(**options)
        self._thread: LoopThread | None = None
        self._assembly: Assembly | None = None
        self._initial: Change | None = None
        self._faults: LocalFaults | None = None
        self._denials: Denials | None = None
        self._recorder: Recorder | None = None

    def start(self) -> None:
        """Start; return when clients can connect. Does nothing if the server runs."""
        if self._assembly is None:
            with fast_imports():
                self._start()

    def _start(self) -> None:
        self._faults = self._faults or LocalFaults()
        settings = load_values(self._keys(), "the test's").settings
        if self._initial is None:
            configuration = self.configuration
            self._initial = initial_change(configuration, credentials_of(configuration))
        self._thread = LoopThread()
        try:
            self._assembly = self._thread.run(_open(settings, self._initial, self._faults))
        except BaseException:
            self._thread.close()
            self._thread = None
            raise
        self._follow_decisions(self._assembly)
        self._addresses = dict(self._assembly.addresses)

    def stop(self) -> None:
        assembly, self._assembly = self._assembly, None
        thread, self._thread = self._thread, None
        self._addresses = {}
        if self._faults is not None:
            self._faults.clear()
        if thread is not None:
            try:
                if assembly is not None:
                    thread.run(assembly.__aexit__(None, None, None))
            finally:
                thread.close()

    @property
    def faults(self) -> LocalFaults:
        self._running()
        assert self._faults is not None, "made when it started"
        return self._faults

    @property
    def authorizer(self) -> Authorizer | None:
        """Return the authorizer itself; use it on the server's thread only. None without one."""
        return self._running().authorizer

    def denied(self, principal: str | None = None) -> list[Denial]:
        """Return the refusals since the start, of a principal or of all: ``denied("User:a")``.

        Each has the rule that decided, and shows it in a failed assertion.
        """
        self._running()
        if principal is not None:
            self._warn_of_stranger(principal)
        return [] if self._denials is None else self._denials.refusals(principal)

    def expect_denied(
        self,
        principal: str,
        operation: str | AclOperation | None = None,
        **resource: Unpack[ResourceOption],
    ) -> AbstractContextManager[list[Denial]]:
        """Expect a refusal within a ``with`` block; its list has the refusals after the block.

            with server.expect_denied("User:svc", "WRITE", topic="orders"):
                service.run()

        Without an operation, or without a resource, any counts. An exception that leaves the
        block gets a note with the refusals.

        Raises:
            AssertionError: nothing was refused; the text has the refusals of others.
        """
        self._warn_of_stranger(principal)
        wanted_operation = None if operation is None else operation_of(operation)
        wanted_resource = resource_of(resource) if resource else None

        def matches(denial: Denial) -> bool:
            _, _, denied_operation, *denied_resource = denial.question
            return (
                denial.principal == principal
                and wanted_operation in (None, denied_operation)
                and wanted_resource in (None, tuple(denied_resource))
            )

        what = "an operation" if wanted_operation is None else wanted_operation.name
        where = ""
        if wanted_resource is not None:
            where = f" on {wanted_resource[0].name} {wanted_resource[1]!r}"
        return expect(self.denied, matches, f"{principal} {what}{where}")

    def least_acls(self, principal: str, *, include_optional: bool = False) -> list[AclBinding]:
        """Return the smallest set of ACLs for all that was allowed since the start, sorted.

        With the option ``learn`` everything is allowed. Requests whose refusal only shortens a
        response, such as a list of topics, count with ``include_optional``.
        """
        accesses = self._accesses(principal, include_optional=include_optional)
        return [acl.binding for acl in least_acls(accesses)]

    def assert_least_acls(
        self, principal: str, acls: Acls, *, include_optional: bool = False
    ) -> None:
        """Assert that ACLs allow all that was allowed since the start, and that each is needed.

        ``acls`` has any form of the option of that name; a prefix may stand for several names.

        Raises:
            AssertionError: it names the missing ACLs with their requests, and those not needed.
        """
        accesses = self._accesses(principal, include_optional=include_optional)
        text = difference(bindings_of(acls), accesses)
        if text:
            raise AssertionError(f"found other minimal ACLs for {principal}:\n{text}")

    def _accesses(self, principal: str, *, include_optional: bool) -> list[RecordedAccess]:
        self._running()
        self._warn_of_stranger(principal)
        recorded = [] if self._recorder is None else self._recorder.accesses()
        return [
            access
            for access in recorded
            if access.question.principal == principal
            and access.allowed
            and (access.reported or include_optional)
        ]

    def _follow_decisions(self, assembly: Assembly) -> None:
        authorizer, guarded = assembly.authorizer, assembly.guarded
        self._denials = self._recorder = None
        if guarded is None:
            return

        def state() -> tuple[Policy, Snapshot] | None:
            if isinstance(authorizer, StandardAuthorizer):
                return authorizer.policy, authorizer.snapshot
            return None

        self._denials = Denials(state)
        self._recorder = Recorder(guarded, time.time_ns, self._denials.record)

    def acls(self) -> list[AclBinding]:
        guarded, _ = self._acls()

        async def find() -> list[AclBinding]:
            return sorted(set(guarded.acls(ANY_BINDING)))

        return self._run(find())

    def _add(self, bindings: Iterable[AclBinding]) -> None:
        guarded, timeout_s = self._acls()
        _check(self._run(guarded.change(CREATION, None, list(bindings), timeout_s)))

    def _remove(self, filters: Iterable[AclBindingFilter]) -> None:
        guarded, timeout_s = self._acls()
        _check(self._run(guarded.change(DELETION, None, list(filters), timeout_s)))

    def _answer(
        self,
        principal: str,
        operation: str | AclOperation,
        resource: ResourceOption,
        *,
        expected: bool,
    ) -> Answer:
        if self._decides_by_acls():
            return super()._answer(principal, operation, resource, expected=expected)
        # A custom authorizer is asked as by a request on the first listener.
        question = question_of(principal, operation, resource)
        guarded = self._running().guarded
        listener = self.configuration.listeners[0]

        async def ask() -> bool:
            return guarded is None or decide(guarded, question, listener)

        return Answer(question, allowed=self._run(ask()), expected=expected)

    def _warn_of_stranger(self, principal: str) -> None:
        users = self._running().log.state.credentials.names()
        warn_of_stranger(self.configuration, principal, users)

    def _decides_by_acls(self) -> bool:
        """Return whether the authorizer is Kafka's, or decides as it does."""
        authorizer = self.authorizer
        return (
            isinstance(authorizer, StandardAuthorizer)
            and type(authorizer).authorize is StandardAuthorizer.authorize
        )

    def _state(self) -> tuple[Policy, Snapshot]:
        authorizer = self.authorizer
        assert isinstance(authorizer, StandardAuthorizer), "asked only where it decides"
        # Both are immutable; reading the references needs no turn of the loop.
        return authorizer.policy, authorizer.snapshot

    def _acls(self) -> tuple[GuardedAuthorizer, float]:
        """Return the authorizer, and the time-out of its changes in seconds."""
        assembly = self._running()
        if assembly.guarded is None:
            raise TypeError("there are no ACLs: authorizer.class.name is not set")
        return assembly.guarded, assembly.node.settings[UPDATE_TIMEOUT_MS] / 1000

    def _running(self) -> Assembly:
        if self._assembly is None:
            raise RuntimeError(NOT_RUNNING)
        return self._assembly

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        assert self._thread is not None, "asked while it runs"
        return self._thread.run(work)


def _check(results: Results) -> None:
    for result in results.values:
        if result.error is not None:
            # A client gets a code; the test gets the exception of the authorizer.
            raise (results.errors or (result.error,))[0]


async def _open(settings: Settings, initial: Change, faults: LocalFaults) -> Assembly:
    assembly = Assembly(
        settings,
        cast("Logs", TestLogs()),
        store=MemoryStore(
            {**initial_rows(settings), **initial},
            cluster_id=random_uuid(os.urandom),
            salt_key=os.urandom(32),
        ),
        connect=partial(FaultyConnection, faults=faults),
    )
    try:
        await assembly.start()
    except BaseException:
        await assembly.__aexit__(None, None, None)
        raise
    return assembly


def decide(authorizer: GuardedAuthorizer, question: Question, listener_name: str) -> bool:
    """Return the authorizer's decision. Call it on the thread of its event loop."""
    context = AuthorizableRequestContext(
        listener_name=listener_name,
        security_protocol="PLAINTEXT",
        principal=Principal.parse(question.principal),
        client_address=question.host,
        request_type=-1,
        request_version=0,
        client_id="doorkeeper.testing",
        correlation_id=0,
    )
    resource = ResourcePattern(question.resource_type, question.name, PatternType.LITERAL)
    action = Action(question.operation, resource)
    (result,) = authorizer.authorize(context, [action])
    return result is AuthorizationResult.ALLOWED


def difference(bindings: Collection[AclBinding], accesses: Sequence[RecordedAccess]) -> str:
    """Return a line for each missing ACL and each that is not needed, as an assertion prints it."""
    missing = missing_acls(bindings, accesses)
    lines = [
        f"  missing: {text_of(acl.binding)} for {reasons_text(acl.reasons)}" for acl in missing
    ]
    # Beside the missing ones: READ on a topic is needed for its DESCRIBE only without WRITE.
    together = [*bindings, *(acl.binding for acl in missing)]
    unneeded = set(unneeded_acls(together, accesses))
    lines += [f"  not needed: {text_of(binding)}" for binding in sorted({*bindings} & unneeded)]
    return "\n".join(lines)


class LoopThread:
    """An event loop in a thread of its own, with synchronous calls; it runs until ``close``."""

    def __init__(self, name: str = "doorkeeper-testing") -> None:
        """Start the thread; return when the loop runs."""
        self._running = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        if not self._running.wait(WAIT_S):
            raise TimeoutError(f"no event loop after {WAIT_S:.0f} s")

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop; return its result or raise its exception."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("called from the server's own thread, which would deadlock")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(WAIT_S)

    def close(self) -> None:
        """Stop the loop and the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join(WAIT_S)

    def _run(self) -> None:
        with new_runner() as runner:
            runner.run(self._until_closed())

    async def _until_closed(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._end = asyncio.Event()
        self._running.set()
        await self._end.wait()
