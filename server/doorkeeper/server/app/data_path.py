"""The data path of a test broker, a package of its own that is imported where it is enabled."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from doorkeeper.server.api.declaration import Api
    from doorkeeper.server.app.node import LiveNode
    from doorkeeper.server.config.settings import Settings
    from doorkeeper.server.state.log import StateLog

PACKAGE: Final = "doorkeeper_broker"

NOTICE: Final = (
    "test broker: records are kept in memory only, with a size limit, and are lost when the"
    " server stops"
)


class DataPath(Protocol):
    """The data path of one server."""

    @property
    def apis(self) -> Sequence[Api]:
        """Return the APIs that it adds, or serves instead of those of the server."""
        ...

    def disconnected(self, connection: int) -> None:
        """Take note that the connection of this number has ended."""
        ...

    def close(self) -> None:
        """Stop all timers."""
        ...


def data_path_keys() -> Sequence[int]:
    """Return the keys of all APIs that the package adds or serves."""
    keys: Sequence[int] = import_module(PACKAGE).API_KEYS
    return keys


def open_data_path(settings: Settings, node: LiveNode, log: StateLog) -> DataPath | None:
    """Open the data path for the running event loop; None where it is not enabled."""
    memory_bytes = settings.test_broker_memory_bytes
    if memory_bytes is None:
        return None
    # By its name, as an authorizer: the server depends on nothing that only tests need.
    data_path: DataPath = import_module(PACKAGE).open_data_path(
        node=node, log=log, memory_bytes=memory_bytes
    )
    return data_path
