"""The server of a stopped store in single-user mode, as commands start it."""

from __future__ import annotations

import asyncio
import errno
import os
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from doorkeeper.acls.model import ANY_BINDING
from doorkeeper.cli.commands import doorkeeper
from doorkeeper.cli.repositories.addresses import parse_address
from doorkeeper.cli.repositories.errors import RepositoryError
from doorkeeper.cli.repositories.stores import StoreRepository
from doorkeeper.server.authorizer.contract import AuthorizationResult
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.config.store_keys import DATA_DIR
from doorkeeper.server.operations.audit.files import AuditFolder
from doorkeeper.server.operations.audit.names import open_name
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import ACL, CONFIG
from testkit.e2e import command
from testkit.plugins import InMemory
from testkit.serving import Serving
from testkit.settings import settings_of
from testkit.stores import binding, config, fill, open_store, query
from testkit.trails import Disk, line_of, lines_in, written

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from doorkeeper.plugins import (
        AclBinding,
        AclBindingFilter,
        AclCreateResult,
        AclDeleteResult,
        Action,
        AuthorizableRequestContext,
        Eventually,
    )
    from doorkeeper.server.config.settings import Settings
    from testkit.postgres import Database as PostgresDatabase

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
BINDINGS = [binding(number).binding for number in (1, 2)]


def settings(folder: Path, text: str = "", *, name: str = STANDARD, audit: bool = True) -> Settings:
    """Return a configuration, with an audit log unless it says otherwise."""
    audit_dir = f"doorkeeper.audit.dir={folder / 'audit'}\n" if audit else ""
    return settings_of(
        f"listeners=A://:0,B://localhost:1\nlistener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT"
        f"\nadvertised.listeners=A://a.example:1,B://b.example:2\nauthorizer.class.name={name}"
        f"\ndoorkeeper.data.dir={folder / 'data'}\n{audit_dir}{text}"
    )


def store(configured: Settings) -> StoreRepository:
    return StoreRepository(parse_address(f"store:{configured[DATA_DIR]}"), configured)


def acls_in(data_dir: Path) -> list[AclBinding]:
    opened = open_store(data_dir)
    try:
        return sorted(row.binding for row in opened.rows(ACL))
    finally:
        opened.close()


async def add(configured: Settings, number: int) -> str:
    """Add an ACL as a command does; return the error, or no text."""
    async with store(configured).change(create=True) as session:
        (error,) = await session.add([binding(number).binding])
    return str(error or "")


class Denies(StandardAuthorizer):
    """Locks everyone out."""

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        return [AuthorizationResult.DENIED] * len(actions)


async def test_single_user_mode_bypasses_a_denying_authorizer(tmp_path: Path) -> None:
    configured = settings(tmp_path, name=f"{__name__}.Denies")

    async with store(configured).change(create=True) as session:
        assert await session.add(BINDINGS) == [None, None]
        assert (await session.listing()).bindings == BINDINGS
        assert await session.remove(BINDINGS[:1]) == [None]

    events = [each for each in lines_in(tmp_path / "audit") if each["kind"] == "change"]
    assert [(each["principal"], each["host"], each["api"]) for each in events] == [
        ("Server:doorkeeper", "", None)
    ] * 2
    assert acls_in(tmp_path / "data") == [binding(2).binding]


def test_single_user_mode_does_not_need_the_authorizer(tmp_path: Path) -> None:
    asyncio.run(fill(tmp_path / "data", edit(CONFIG, set=[config("super.users", "User:x")])))
    (tmp_path / "password").write_text("alice-secret\n")
    words = [
        *("--override", "authorizer.class.name=testkit.plugins.BadStart"),
        *("--override", "plugin.way=raise"),
        *("--override", "listeners=SASL_PLAINTEXT://:1"),
        *("--override", "sasl.enabled.mechanisms=SCRAM-SHA-256,SCRAM-SHA-512"),
    ]
    store = f"store:{tmp_path / 'data'}"
    added = ["users", "add", store, "alice", "--password-file", str(tmp_path / "password"), *words]

    results = [
        CliRunner().invoke(doorkeeper, each)
        for each in (added, ["config", "reset", store, "super.users", *words])
    ]
    listed = CliRunner().invoke(doorkeeper, ["users", "list", store, *words])

    assert [(each.exit_code, each.stderr) for each in results] == [(0, "")] * 2, results
    assert listed.stdout.count("alice") == 2
    assert query(
        tmp_path / "data",
        "SELECT DISTINCT author_principal, author_host, author_client_id FROM change_log"
        " WHERE revision > 1",
    ) == [
        ("Server:doorkeeper", "", "doorkeeper users"),
        ("Server:doorkeeper", "", "doorkeeper config reset"),
    ]
    for file in (tmp_path / "data").iterdir():
        assert b"-secret" not in file.read_bytes()


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


async def test_plug_in_changes_acls(tmp_path: Path) -> None:
    Watches.calls.clear()

    async with store(settings(tmp_path, name=f"{__name__}.Watches")).change(create=True) as session:
        assert await session.add(BINDINGS) == [None, None]
        assert (await session.listing([ANY_BINDING, ANY_BINDING])).bindings == sorted(BINDINGS)
        assert await session.remove_matching([ANY_BINDING]) == [None]

    assert Watches.calls == [("create", None), ("delete", None), ("close", None)]
    one, two = lines_in(tmp_path / "audit")
    assert (one["revision"], two["revision"]) == (None, None)
    assert [each["id"] for each in (*one["added"], *two["removed"])] == [None] * 4


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("", "", "there are no ACLs: authorizer.class.name is not set"),
        (STANDARD, "", "found no store"),
        ("testkit.plugins.BadStart", "plugin.way=configure\n", "plugin.url: found nothing"),
        ("testkit.plugins.BadStart", "plugin.way=fail\n", "failed to start: no policies"),
        ("testkit.plugins.BadStart", "plugin.way=raise\n", "failed to start: the policy server is"),
    ],
)
async def test_start_failure_is_one_line(tmp_path: Path, name: str, text: str, said: str) -> None:
    if "no store" not in said:
        open_store(tmp_path / "data").close()

    with pytest.raises(RepositoryError, match=said):
        await store(settings(tmp_path, text, name=name)).change().__aenter__()

    open_store(tmp_path / "data").close()


async def test_update_times_out(tmp_path: Path) -> None:
    text = "doorkeeper.update.timeout.ms=20\n"
    configured = settings(tmp_path, text, name="testkit.plugins.Unhurried", audit=False)
    never = BINDINGS[0]._replace(pattern=BINDINGS[0].pattern._replace(name="never-1"))

    async with store(configured).change(create=True) as session:
        (error,) = await session.add([never])

    assert error is not None
    assert error.code.name == "REQUEST_TIMED_OUT"


async def test_audit_event_numbers_continue(tmp_path: Path) -> None:
    (tmp_path / "audit").mkdir()
    written(tmp_path / "audit", 1, 3)
    (tmp_path / "audit" / open_name(1, 4)).write_bytes(line_of(4) + b"{")

    await add(settings(tmp_path, "doorkeeper.audit.compression=none\n"), 1)

    events = lines_in(tmp_path / "audit")
    assert [event["seq"] for event in events] == [1, 2, 3, 4, 5, 6]
    assert [event["kind"] for event in events[4:]] == ["recovered", "change"]
    assert list((tmp_path / "audit").glob("*.open")) == []


async def test_audit_log_in_use_is_reported(tmp_path: Path) -> None:
    (tmp_path / "audit").mkdir()
    folder = AuditFolder(tmp_path / "audit", 1, compress=False)

    with pytest.raises(RepositoryError) as caught:
        await add(settings(tmp_path), 1)
    await add(settings(tmp_path, "node.id=77\n"), 2)

    assert str(caught.value) == (
        f"doorkeeper.audit.dir: {tmp_path / 'audit'}: another server writes the audit log of node"
        " 1 here; use its address (kafka://HOST:PORT), or run the command with an unused node.id"
    )
    folder.release()
    assert acls_in(tmp_path / "data") == [binding(2).binding]
    assert [event["node"] for event in lines_in(tmp_path / "audit")] == [77]


async def test_full_disk_rejects_change_with_strict_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_store(tmp_path / "data").close()
    Disk(monkeypatch).no_room = True

    error = await add(settings(tmp_path, "doorkeeper.audit.sync=strict\n"), 1)

    assert error.startswith("Nothing was changed: the audit log cannot be written")
    assert acls_in(tmp_path / "data") == []


async def test_full_disk_allows_change_without_strict_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def full(_folder: AuditFolder, _first: int) -> tuple[Path, int]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(AuditFolder, "open", full)

    assert await add(settings(tmp_path), 1) == ""

    assert acls_in(tmp_path / "data") == [binding(1).binding]
    assert "the audit log cannot be written" in capfd.readouterr().err


async def test_strict_sync_happens_before_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    fdatasync = os.fdatasync

    def syncing(descriptor: int) -> None:
        synced.append(len(lines_in(tmp_path / "audit")))
        fdatasync(descriptor)

    monkeypatch.setattr("doorkeeper.server.operations.audit.writer.os.fdatasync", syncing)
    configured = settings(tmp_path, "doorkeeper.audit.sync=strict\n")
    async with store(configured).change(create=True) as session:
        await session.add(BINDINGS[:1])
        seen: list[Any] = list(synced)

    assert seen == [1]


@pytest.mark.interop
def test_command_runs_next_to_nodes_of_a_shared_store(
    tmp_path: Path, database: PostgresDatabase
) -> None:
    (tmp_path / "server.properties").write_text(
        f"listeners=PLAINTEXT://localhost:0\nnode.id=1\nauthorizer.class.name={STANDARD}\n"
        f"super.users=User:ANONYMOUS\ndoorkeeper.data.dir=data\ndoorkeeper.store={database.url()}\n"
    )
    config_words, store_address = ("--config", "server.properties"), "config:server.properties"
    (tmp_path / "password").write_text("alice-secret\n")
    who = ("--allow-principal", "User:a", "--operation", "Read", "--topic", "t")

    with Serving(tmp_path, *config_words) as server:
        results = [
            command(tmp_path, "acls", "add", *who, store_address),
            command(
                tmp_path, "users", "add", store_address, "alice", "--password-file", "password"
            ),
            command(tmp_path, "acls", "list", f"localhost:{server.port()}"),
            command(tmp_path, "users", "list", f"kafka://localhost:{server.port()}"),
        ]
        assert database.execute("SELECT count(*) FROM doorkeeper.node") == "1"
        assert server.stop() == 0

    assert [each[0] for each in results] == [0] * 4, results
    assert "principal=User:a, host=*, operation=READ" in results[2][1]
    assert results[3][1].count("alice") == 2
