"""Authorizers that a server under test loads by name: ``testkit.plugins.<class>``.

All of them allow what they are not about, and keep their ACLs in memory.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from typing import TYPE_CHECKING, Any, NoReturn

from doorkeeper.plugins import (
    AclBinding,
    AclBindingDeleteResult,
    AclCreateResult,
    AclDeleteResult,
    ApiError,
    AuthorizationResult,
    Authorizer,
    ErrorCode,
    completed,
    matches,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from doorkeeper.plugins import (
        AclBindingFilter,
        Action,
        AuthorizableRequestContext,
        AuthorizerServerInfo,
        Endpoint,
        Eventually,
    )

ALLOWED, DENIED = AuthorizationResult.ALLOWED, AuthorizationResult.DENIED


class InMemory(Authorizer):
    """Allows everything, and keeps ACLs."""

    def __init__(self) -> None:
        self.held: set[AclBinding] = set()
        self.configs: Mapping[str, str] = {}

    def configure(self, configs: Mapping[str, str]) -> None:
        self.configs = configs

    def start(self, server_info: AuthorizerServerInfo) -> Mapping[Endpoint, Eventually[None]]:
        print_line(f"started {server_info}")
        return {}

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        return [ALLOWED] * len(actions)

    def create_acls(
        self, context: AuthorizableRequestContext | None, bindings: Sequence[AclBinding]
    ) -> Sequence[Eventually[AclCreateResult]]:
        self.held |= set(bindings)
        return [completed(AclCreateResult()) for _ in bindings]

    def delete_acls(
        self, context: AuthorizableRequestContext | None, filters: Sequence[AclBindingFilter]
    ) -> Sequence[Eventually[AclDeleteResult]]:
        found = [[each for each in self.held if matches(one, each)] for one in filters]
        self.held -= {each for every in found for each in every}
        return [
            completed(AclDeleteResult(bindings=tuple(map(AclBindingDeleteResult, each))))
            for each in found
        ]

    def acls(self, wanted: AclBindingFilter) -> Iterator[AclBinding]:
        return (each for each in sorted(self.held) if matches(wanted, each))

    def close(self) -> None:
        print_line("closed")


def print_line(text: str) -> None:
    """Write on the standard error stream, as a plug-in may."""
    import sys

    sys.stderr.write(f"plug-in: {text}\n")
    sys.stderr.flush()


class Unhurried(InMemory):
    """Completes each item as the name of its resource says.

    ``late-...`` a moment later, by a thread; ``last-...`` after all others; ``never-...``;
    ``refused-...`` with an error; ``fails-...`` with an exception; others at once.
    """

    def __init__(self) -> None:
        super().__init__()
        self.threads = concurrent.futures.ThreadPoolExecutor(4, "unhurried")

    def create_acls(
        self, context: AuthorizableRequestContext | None, bindings: Sequence[AclBinding]
    ) -> Sequence[Eventually[AclCreateResult]]:
        print_line("asked")
        made: list[Any] = []
        others = asyncio.get_running_loop().create_future()
        for binding in bindings:
            way, _, _ = binding.pattern.name.partition("-")
            make = getattr(self, f"_{way}", None)
            made.append(completed(AclCreateResult()) if make is None else make(others))
            if way not in ("never", "refused", "fails"):
                self.held.add(binding)
        rest = [each for each in made if not asyncio.iscoroutine(each)]
        waiting = [asyncio.wrap_future(each) for each in rest if not asyncio.isfuture(each)]
        asyncio.gather(*waiting).add_done_callback(lambda _: others.set_result(None))
        return made

    def _late(self, _: asyncio.Future[None]) -> Any:
        def work() -> AclCreateResult:
            time.sleep(0.05)
            return AclCreateResult()

        return self.threads.submit(work)

    async def _last(self, others: asyncio.Future[None]) -> AclCreateResult:
        await others
        return AclCreateResult()

    def _never(self, _: asyncio.Future[None]) -> Any:
        return asyncio.get_running_loop().create_future()

    def _refused(self, _: asyncio.Future[None]) -> Any:
        return completed(AclCreateResult(ApiError(ErrorCode.POLICY_VIOLATION, "not this one")))

    async def _fails(self, _: asyncio.Future[None]) -> AclCreateResult:
        raise RuntimeError("secret of the plug-in")

    def close(self) -> None:
        self.threads.shutdown()
        super().close()


class RaisesEverywhere(InMemory):
    """Every method but those of its life raises."""

    def _raise(self, *_: object) -> NoReturn:
        raise RuntimeError("secret of the plug-in")

    authorize = create_acls = delete_acls = acls = acl_count = _raise  # type: ignore[assignment]
    authorize_by_resource_type = authorized_operations = _raise  # type: ignore[assignment]


class OutOfMemory(InMemory):
    """Has no memory left for what ``plugin.needs`` names."""

    def _raise(self) -> None:
        raise MemoryError

    def acls(self, wanted: AclBindingFilter) -> Any:
        if self.configs["plugin.needs"] == "acls":
            self._raise()
        return super().acls(wanted)

    def create_acls(
        self, context: AuthorizableRequestContext | None, bindings: Sequence[AclBinding]
    ) -> Any:
        if self.configs["plugin.needs"] == "create_acls":
            self._raise()
        return super().create_acls(context, bindings)


class Answers(InMemory):
    """Answers every question with what ``plugin.answers`` names."""

    def authorize(self, context: object, actions: Sequence[Action]) -> Any:
        return {
            "none": None,
            "few": [ALLOWED] * (len(actions) - 1),
            "many": [ALLOWED] * (len(actions) + 1),
            "true": [True] * len(actions),
            "text": ["ALLOWED"] * len(actions),
        }[self.configs["plugin.answers"]]


class BadStart(InMemory):
    """Does not start, in the way that ``plugin.way`` names."""

    def configure(self, configs: Mapping[str, str]) -> None:
        super().configure(configs)
        if configs["plugin.way"] == "configure":
            raise ValueError("plugin.url: found nothing; allowed: an address")
        if configs["plugin.way"] == "exit":
            raise SystemExit(7)

    def start(self, server_info: AuthorizerServerInfo) -> Any:
        print_line("starting")
        way = self.configs["plugin.way"]
        if way == "raise":
            raise OSError("the policy server\nis away")
        if way == "none":
            return None
        waiting = asyncio.get_running_loop().create_future()
        first, *rest = server_info.endpoints
        if way == "fail":
            asyncio.get_running_loop().call_soon(waiting.set_exception, OSError("no policies"))
        if way == "cancel":
            asyncio.get_running_loop().call_soon(waiting.cancel)
        if way == "odd":
            return {first: 7}
        return {first: waiting, **{each: asyncio.sleep(3600) for each in rest}}


class LeavesThreads(InMemory):
    """Starts a thread that nothing ends."""

    def start(self, server_info: AuthorizerServerInfo) -> Mapping[Endpoint, Eventually[None]]:
        threading.Thread(target=threading.Event().wait, name="policy-refresh").start()
        return super().start(server_info)


class LeavesThreadsUnconfigured(LeavesThreads):
    """Starts its thread too early, and then refuses its keys."""

    def configure(self, configs: Mapping[str, str]) -> None:
        super().start(None)  # type: ignore[arg-type]
        raise ValueError("plugin.url: found nothing; allowed: an address")


class OlderThatStays:
    """Has the older interface, and never ends to close."""

    def authorize(self, session: object, operation: object, resource: object) -> bool:
        return True

    def add_acls(self, acls: object, resource: object) -> None:
        pass

    def remove_acls(self, acls: object, resource: object) -> bool:
        return True

    def get_acls(self, **wanted: object) -> object:
        return set() if "resource" in wanted else {}

    def close(self) -> None:
        print_line("closing")
        threading.Event().wait()


class Slow(InMemory):
    """Thinks for a while about each request."""

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        time.sleep(0.02)
        return super().authorize(context, actions)
