"""A server that does not start leaves the disk as it was."""

from __future__ import annotations

import socket
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.app.assembly import Assembly
from doorkeeper.server.app.errors import StartError
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from testkit.logs import readable_logs
from testkit.settings import settings_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from doorkeeper.server.authorizer.contract import AuthorizerServerInfo

STANDARD = "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
EVERYTHING = """\
doorkeeper.data.dir={folder}/new/deep/data
doorkeeper.audit.dir={folder}/new/audit
doorkeeper.audit.sync=strict
doorkeeper.authorizer.log.file={folder}/authorizer.log
"""
"""All that a server writes."""

BROKEN = {
    "busy port": ("listeners=PLAINTEXT://127.0.0.1:{port}", "cannot bind"),
    "busy second port": (
        "listeners=PLAINTEXT://127.0.0.1:0,C://127.0.0.1:{port}\ncontroller.listener.names=C",
        "cannot bind",
    ),
    "address of another machine": (
        "listeners=PLAINTEXT://192.0.2.1:0",
        "cannot bind 192.0.2.1:0: no such address",
    ),
    "data folder in a file": ("doorkeeper.data.dir={folder}/bad/data", "bad/data: not a folder"),
    "busy operations port": ("doorkeeper.http.listener=http://127.0.0.1:{port}", "cannot bind"),
    "no such authorizer": ("authorizer.class.name=nowhere.Authorizer", "nowhere"),
    "authorizer that does not start": (f"authorizer.class.name={__name__}.Refusing", "not today"),
    "wrong super user": (f"{STANDARD}super.users=alice", "super.users: expected"),
    "no such policy": ("create.topic.policy.class.name=nowhere.Policy", "nowhere"),
    "bad certificate": (
        "listeners=SSL://127.0.0.1:0\nssl.keystore.type=PEM\nssl.keystore.location={folder}/bad",
        "bad",
    ),
    "authorizer log in no folder": (
        f"{STANDARD}doorkeeper.authorizer.log.file={{folder}}/nowhere/authorizer.log",
        "nowhere/authorizer.log",
    ),
    "audit folder that is a file": ("doorkeeper.audit.dir={folder}/bad", "bad"),
}
"""What is wrong, and a part of the error."""


class Refusing(StandardAuthorizer):
    """An authorizer that cannot start."""

    def start(self, server_info: AuthorizerServerInfo) -> Mapping[object, object]:  # type: ignore[override]
        raise RuntimeError("not today")


@pytest.fixture(name="busy")
def busy_port() -> Iterator[int]:
    """Yield a port that somebody listens on."""
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        yield other.getsockname()[1]


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


async def error_of(folder: Path, keys: str) -> str:
    """Start a server with these keys beside ``EVERYTHING``, which must not start."""
    keys = f"{EVERYTHING.format(folder=folder)}{keys}\n"
    values = dict(line.split("=", 1) for line in keys.splitlines())
    values.setdefault("listeners", "PLAINTEXT://127.0.0.1:0")
    settings = settings_of("\n".join(f"{key}={value}" for key, value in values.items()))
    with readable_logs(folder.with_suffix(".log")) as log:
        async with Assembly(settings, log.logs) as server:
            with pytest.raises(StartError) as raised:
                await server.start()
    return "\n".join(map(str, raised.value.problems))


@pytest.mark.parametrize("broken", BROKEN)
async def test_a_failed_start_makes_no_file(tmp_path: Path, busy: int, broken: str) -> None:
    """Neither a store nor its folders, an audit log or an authorizer log."""
    (tmp_path / "bad").write_text("neither PEM nor a folder")
    keys, part = BROKEN[broken]

    error = await error_of(tmp_path, keys.format(port=busy, folder=tmp_path))

    assert part in error
    assert files(tmp_path) == {"bad"}


async def test_a_failed_start_keeps_the_folders_of_others(tmp_path: Path, busy: int) -> None:
    """An empty data folder stays, as a mounted volume does, and so do foreign files."""
    (tmp_path / "new/deep/data/lost+found").mkdir(parents=True)
    (tmp_path / "new/audit").mkdir()
    before = files(tmp_path)

    await error_of(tmp_path, f"listeners=PLAINTEXT://127.0.0.1:{busy}")

    assert files(tmp_path) - {"new/audit/audit-1.lock"} == before


async def test_a_failed_start_keeps_a_store(tmp_path: Path, busy: int) -> None:
    """An existing one stays, with its identity file and its audit log, and starts again."""
    settings = settings_of(EVERYTHING.format(folder=tmp_path), "listeners=PLAINTEXT://127.0.0.1:0")
    clusters = []
    for _ in range(2):
        with readable_logs(tmp_path.with_suffix(".log")) as log:
            async with Assembly(settings, log.logs) as server:
                await server.start()
                clusters.append(server.log.cluster_id)
        before = files(tmp_path)

        await error_of(tmp_path, f"listeners=PLAINTEXT://127.0.0.1:{busy}")

        assert files(tmp_path) == before
    assert clusters[0] == clusters[1]
