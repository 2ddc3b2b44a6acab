"""What SIGHUP changes."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.server.app.assembly import Assembly
from doorkeeper.server.app.decision_settings import settings_of
from doorkeeper.server.app.reload import reload
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.config.keys import LOG_LEVELS, NUM_PARTITIONS, SUPER_USERS
from doorkeeper.server.config.loading import load
from testkit.edge import until
from testkit.logs import ReadableLogs, readable_logs
from testkit.stores import NOW_MS, open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


BASE = """
listeners=SASL://localhost:0
listener.security.protocol.map=SASL:SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
"""
JAAS = (
    "listener.name.sasl.plain.sasl.jaas.config="
    "org.apache.kafka.common.security.plain.PlainLoginModule required"
)


class Running(NamedTuple):
    """A server whose file a test may change."""

    file: Path
    assembly: Assembly
    log: ReadableLogs

    async def reload(self, text: str) -> None:
        """Write a new file and reload it."""
        self.file.write_text(f"{BASE}doorkeeper.data.dir={self.file.parent / 'data'}\n{text}")
        await reload(self.file, (), self.assembly)

    def events(self) -> list[str]:
        """Return what was logged: event and problem."""
        lines = self.log.lines()
        return [" ".join((line["event"], line.get("problem", ""))).strip() for line in lines]


@asynccontextmanager
async def running(folder: Path, text: str) -> AsyncIterator[Running]:
    """Run a server with this text at the end of its file."""
    file = folder / "server.properties"
    file.write_text(f"{BASE}doorkeeper.data.dir={folder / 'data'}\n{text}")
    open_store(folder / "data").close()
    with readable_logs(folder / "log") as log:
        async with Assembly(load(file).settings, log.logs, lambda: NOW_MS) as assembly:
            await assembly.start()
            yield Running(file, assembly, log)


def users(assembly: Assembly) -> dict[str, str]:
    (plain,) = (one for each in assembly.node.settings.listeners for one in each.mechanisms)
    assert plain.login_module is not None
    options = plain.login_module.options
    return {name.removeprefix("user_"): text for name, text in options.items()}


async def test_decision_settings_are_in_the_history(tmp_path: Path) -> None:
    given = f'{JAAS} user_a="1";\nsuper.users='
    async with running(tmp_path, f"{given}User:a") as server:
        log = server.assembly.log
        await until(lambda: log.state.revision == 1)
        await server.reload(f"{given}User:a")
        await server.reload(f"{given}User:b")
        await until(lambda: log.state.revision == 2)
        node = str(server.assembly.node.node_id)
        assert settings_of(log.state.settings, node) == {
            "super.users": "User:b",
            "allow.everyone.if.no.acl.found": "false",
        }
    async with running(tmp_path, f"{given}User:b") as server:
        await server.reload(f"{given}User:a")
        await until(lambda: server.assembly.log.state.revision == 3)


async def test_users_super_users_and_levels_are_reloaded(tmp_path: Path) -> None:
    async with running(tmp_path, f'{JAAS} user_a="1";\nsuper.users=User:a') as server:
        await server.reload(
            f'{JAAS} user_b="2";\nsuper.users=User:b\ndoorkeeper.log.levels=root=DEBUG\n'
        )

        assembly = server.assembly
        assert users(assembly) == {"b": "2"}
        assert isinstance(assembly.authorizer, StandardAuthorizer)
        assert assembly.authorizer.policy.super_users == {"User:b"}
        assert server.log.logs.logger("x").is_enabled(10)
        assert assembly.node.settings[SUPER_USERS] == "User:b"
        assert server.events() == ["reloaded"]


async def test_invalid_file_changes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, f'{JAAS} user_a="1";\nsuper.users=User:a') as server:
        await server.reload(f'{JAAS} user_b="2";\nnum.partitions=x\ndelete.topic.enable=x')
        await server.reload(f'{JAAS} user_b="2";\nsuper.users=b')

        assert users(server.assembly) == {"a": "1"}
        assert isinstance(server.assembly.authorizer, StandardAuthorizer)
        assert server.assembly.authorizer.policy.super_users == {"User:a"}
        events = server.events()
        assert len(events) == 3
        assert all(event.startswith("not reloaded ") for event in events)


async def test_last_of_two_reloads_is_used(tmp_path: Path) -> None:
    async with running(tmp_path, f'{JAAS} user_a="1";') as server:
        first = asyncio.ensure_future(server.reload(f'{JAAS} user_b="2";'))
        await asyncio.sleep(0)
        await asyncio.gather(first, server.reload(f'{JAAS} user_c="3";'))

        assert users(server.assembly) == {"c": "3"}
        assert server.events() == ["reloaded", "reloaded"]


async def test_cancelled_reload_changes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, f'{JAAS} user_a="1";') as server:
        reloading = asyncio.ensure_future(server.reload(f'{JAAS} user_b="2";'))
        await asyncio.sleep(0)
        reloading.cancel()
        await asyncio.wait([reloading])

        assert users(server.assembly) == {"a": "1"}
        assert not server.assembly.config_changes.turn.locked()


async def test_keys_that_need_a_restart_are_unchanged(tmp_path: Path) -> None:
    async with running(tmp_path, f'{JAAS} user_a="1";\nnum.partitions=1') as server:
        await server.reload(
            f'{JAAS} user_a="1";\nnum.partitions=2\ndoorkeeper.log.levels=root=WARN'
        )

        settings = server.assembly.node.settings
        assert settings[NUM_PARTITIONS] == 1
        assert settings[LOG_LEVELS] == {"root": 30}
        assert settings.originals["num.partitions"] == "1"
        assert settings.originals["doorkeeper.log.levels"] == "root=WARN"
        assert server.log.lines()[-1]["keys"] == "num.partitions"
