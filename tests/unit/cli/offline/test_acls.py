"""ACLs of a server that is stopped."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.acls.model import ANY_BINDING, exactly
from doorkeeper.cli.offline.acls import OfflineAcls, open_acls
from doorkeeper.plugins import AclCreateResult, AclDeleteResult, ErrorCode
from doorkeeper.server.app.errors import StartError
from doorkeeper.server.authorizer.guard import GuardedAuthorizer
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.state.store import LogEntry
from testkit.authorizers import SERVER
from testkit.plugins import InMemory
from testkit.settings import settings_of
from testkit.state_logs import OTHER, Database, sharing
from testkit.stores import adding, binding, open_store
from testkit.trails import lines_in

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from doorkeeper.plugins import (
        AclBinding,
        AclBindingFilter,
        AuthorizableRequestContext,
        Eventually,
    )
    from doorkeeper.server.config.settings import Settings

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
BINDINGS = [binding(number).binding for number in (1, 2)]


async def test_what_another_node_changes_meanwhile_refuses_a_change() -> None:
    """If it concerns the plan; it is checked on the state that the change would be made on."""
    database = Database()
    log, store = await sharing(database)
    authorizer = StandardAuthorizer()
    authorizer.attach(log)
    acls = OfflineAcls(GuardedAuthorizer(authorizer), 5, log=log)

    def other(number: int) -> None:
        entry = LogEntry(database.revision + 1, OTHER, adding(number))
        database.write([entry], uuid.uuid4())

    await asyncio.gather(*authorizer.start(SERVER).values())
    concerned = binding(3).binding.pattern
    acls.refuse_after(0, lambda each: each.pattern == concerned)
    other(2)
    assert await acls.add(BINDINGS[:1]) == [AclCreateResult()]

    other(3)

    with pytest.raises(StartError, match="revision 3, which another node has made meanwhile"):
        await acls.add([binding(4).binding])
    with pytest.raises(StartError, match="not changed: revision 3"):
        await acls.remove([exactly(BINDINGS[0])])
    assert database.revision == 3
    await log.aclose()
    assert store.is_closed


class Watches(InMemory):
    """Remembers what it was called with."""

    calls: list[tuple[str, object]] = []  # noqa: RUF012  the test's hand on the instance

    def create_acls(
        self, context: AuthorizableRequestContext | None, bindings: Sequence[AclBinding]
    ) -> Sequence[Eventually[AclCreateResult]]:
        self.calls.append(("create", context))
        return super().create_acls(context, bindings)

    def delete_acls(
        self, context: AuthorizableRequestContext | None, filters: Sequence[AclBindingFilter]
    ) -> Sequence[Eventually[AclDeleteResult]]:
        self.calls.append(("delete", context))
        return super().delete_acls(context, filters)

    def close(self) -> None:
        self.calls.append(("close", None))


def run_offline(
    settings: Settings, work: Callable[[OfflineAcls], Awaitable[None]], *, make_store: bool = False
) -> None:
    async def run() -> None:
        async with open_acls(settings, make_store=make_store) as acls:
            await work(acls)

    asyncio.run(run())


def settings(folder: Path, name: str, text: str = "") -> Settings:
    return settings_of(
        f"listeners=A://:0,B://localhost:1\nlistener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT"
        f"\nadvertised.listeners=A://a.example:1,B://b.example:2\nauthorizer.class.name={name}"
        f"\ndoorkeeper.data.dir={folder / 'data'}\n{text}"
    )


def test_a_plug_in_changes_acls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets no context and is closed once; the audit log has its changes without revisions."""
    monkeypatch.setattr("doorkeeper.server.app.authorizer.authorizer_class", lambda name: Watches)
    Watches.calls.clear()
    seen: list[Any] = []

    async def work(acls: OfflineAcls) -> None:
        seen.append(await acls.add(BINDINGS))
        seen.append(acls.find([ANY_BINDING, ANY_BINDING]))
        (deleted,) = await acls.remove([ANY_BINDING])
        seen.append(sorted(each.binding for each in deleted.bindings))

    audit = f"doorkeeper.audit.dir={tmp_path / 'audit'}\n"
    run_offline(settings(tmp_path, "x.Y", audit), work, make_store=True)

    assert Watches.calls == [("create", None), ("delete", None), ("close", None)]
    assert seen == [[AclCreateResult()] * 2, sorted(BINDINGS), sorted(BINDINGS)]
    one, two = lines_in(tmp_path / "audit")
    assert (one["revision"], two["revision"]) == (None, None)
    assert [each["id"] for each in (*one["added"], *two["removed"])] == [None] * 4


async def _nothing(_acls: OfflineAcls) -> None:
    raise AssertionError("it did not start")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("", "", "there are no ACLs: authorizer.class.name names no authorizer"),
        (STANDARD, "", "there is no store"),
        ("testkit.plugins.BadStart", "plugin.way=configure\n", "plugin.url: found nothing"),
        ("testkit.plugins.BadStart", "plugin.way=fail\n", "does not start: no policies"),
        ("testkit.plugins.BadStart", "plugin.way=raise\n", "does not start: the policy server is"),
    ],
)
def test_what_does_not_start(tmp_path: Path, name: str, text: str, said: str) -> None:
    """One line says why; the store is free again."""
    if "no store" not in said:
        open_store(tmp_path / "data").close()

    with pytest.raises(StartError) as caught:
        run_offline(settings(tmp_path, name, text), _nothing)

    assert said in str(caught.value)
    open_store(tmp_path / "data").close()


class Answers(InMemory):
    """Gives what a test says."""

    def __init__(self, give: Callable[[], Any]) -> None:
        super().__init__()
        self.give = give

    def create_acls(
        self, context: AuthorizableRequestContext | None, bindings: Sequence[AclBinding]
    ) -> Any:
        return [self.give() for _ in bindings]


async def _raises() -> None:
    raise RuntimeError("no\nluck")


async def _gives_nothing() -> None:
    return None


@pytest.mark.parametrize(
    ("give", "timeout_s", "code"),
    [
        (_raises, 60, ErrorCode.UNKNOWN_SERVER_ERROR),
        (_gives_nothing, 60, ErrorCode.UNKNOWN_SERVER_ERROR),
        (lambda: 7, 60, ErrorCode.UNKNOWN_SERVER_ERROR),
        (lambda: asyncio.get_running_loop().create_future(), 0.02, ErrorCode.REQUEST_TIMED_OUT),
    ],
)
async def test_items_that_go_wrong(
    give: Callable[[], Any], timeout_s: float, code: ErrorCode
) -> None:
    """Each is an error of the item; what never comes is one when the time is over."""
    acls = OfflineAcls(GuardedAuthorizer(Answers(give)), timeout_s=timeout_s)

    results = await acls.add(BINDINGS)

    assert [each.error.code for each in results if each.error is not None] == [code] * 2
