"""A server in this process whose keys a test changes, and an authorizer that takes its own.

async with running(tmp_path, "super.users=User:a\\n") as server:
    assert await server.alter("1", ("max.connections", SET, "5")) == [None]
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.plugins import Reconfigurable
from doorkeeper.server.app.assembly import Assembly
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.config.loading import load
from doorkeeper.server.resources.policies.contract import ConfigResourceType
from doorkeeper.server.resources.settings.operations import Alteration, AlteredResource
from doorkeeper.server.runtime.request_context import RequestContext
from testkit.acl import request_of
from testkit.logs import ReadableLogs, readable_logs
from testkit.stores import NOW_MS, open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from doorkeeper.base.errors import ApiError
    from doorkeeper.server.state.store import Store

SET, DELETE = 0, 1
STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
PLUGIN = "testkit.reconfigured.Capricious"
CONTEXT = RequestContext(request_of("admin", api_key=44), "Request(...)", controller_listener=False)


class Capricious(StandardAuthorizer):
    """Takes ``com.example.mood``: refuses ``bad``, fails to judge ``odd`` and to use ``false``.

    ``exit`` would end the process, when it is judged or, with ``false exit``, when it is used.
    """

    def __init__(self) -> None:
        super().__init__()
        self.moods: list[str | None] = []

    def reconfigurable_configs(self) -> set[str]:
        return {"com.example.mood"}

    def validate_reconfiguration(self, configs: Mapping[str, str]) -> None:
        mood = configs.get("com.example.mood")
        if mood == "bad":
            raise ValueError("com.example.mood: found bad; allowed: any other")
        if mood == "odd":
            raise RuntimeError("odd")
        if mood == "exit":
            raise SystemExit(3)

    def reconfigure(self, configs: Mapping[str, str]) -> None:
        mood = configs.get("com.example.mood")
        if mood == "false":
            raise RuntimeError("no")
        if mood == "false exit":
            raise SystemExit(3)
        self.moods.append(mood)

    def configure(self, configs: Mapping[str, str]) -> None:
        super().configure(configs)
        self.moods.append(configs.get("com.example.mood"))


class Reticent(Capricious):
    """Does not say which keys it takes."""

    def reconfigurable_configs(self) -> set[str]:
        raise RuntimeError("no list")


assert issubclass(Capricious, Reconfigurable)


class Running(NamedTuple):
    """A server, its file and its log."""

    file: Path
    assembly: Assembly
    log: ReadableLogs

    async def alter(
        self,
        broker: str,
        *alterations: tuple[str, int, str | None],
        validate_only: bool = False,
        kind: int = ConfigResourceType.BROKER,
    ) -> list[str | None]:
        """Change keys of a broker or a topic; return the text of the refusal, or None."""
        resource = AlteredResource(kind, broker, tuple(Alteration(*one) for one in alterations))
        errors = await self.assembly.config_changes.alter_configs(
            [resource], CONTEXT, validate_only=validate_only
        )
        return [_text(error) for error in errors]

    def events(self) -> list[str]:
        """Return the events that were logged since the last call."""
        return [line["event"] for line in self.log.lines()]


def _text(error: ApiError | None) -> str | None:
    return None if error is None else f"{int(error.code)}: {error.message}"


@asynccontextmanager
async def running(
    folder: Path, text: str, authorizer: str = STANDARD, store: Store | None = None
) -> AsyncIterator[Running]:
    """Run a server with this text at the end of its file; without a store it has its own."""
    file = folder / "server.properties"
    file.write_text(
        f"listeners=PLAINTEXT://localhost:0\nauthorizer.class.name={authorizer}\n"
        f"doorkeeper.data.dir={folder / 'data'}\n{text}"
    )
    if store is None and "doorkeeper.store=" not in text:
        open_store(folder / "data").close()
    with readable_logs(folder / "log") as log:
        settings = load(file).settings
        async with Assembly(settings, log.logs, lambda: NOW_MS, store=store) as assembly:
            await assembly.start()
            yield Running(file, assembly, log)
