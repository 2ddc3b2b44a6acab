"""The operations port of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace

from doorkeeper.server.app.errors import StartError
from doorkeeper.server.app.operations_port import OperationsPort, Parts, checks_of
from doorkeeper.server.config.http import HttpSettings
from doorkeeper.server.operations.http.pages import results_of
from doorkeeper.server.operations.http.port import HttpPort
from doorkeeper.server.runtime.metrics.meters import StoreStatus
from doorkeeper.server.runtime.metrics.series import Meters
from doorkeeper.server.state.state import EMPTY
from testkit.edge import Log

if TYPE_CHECKING:
    from pathlib import Path


class World:
    """Everything that readiness looks at, as the test says."""

    is_open = are_keys_loaded = True

    def __init__(self) -> None:
        self.sight_now = StoreStatus(True, 4, 4)
        self.store = self
        self.unavailable: str | None = None
        self.is_lost = False
        self.state = EMPTY
        self.is_loaded, self.is_draining = True, False
        self.authorizer: Any = object()
        self.notice = ""

    def status(self) -> StoreStatus:
        return self.sight_now

    def parts(self, edge: Any = None) -> Parts:
        return Parts(
            edge or cast("Any", self),
            cast("Any", self),
            cast("Any", None),
            self.authorizer,
            loaded=lambda: self.is_loaded,
            draining=lambda: self.is_draining,
            history=None,
            notice=self.notice,
        )

    def verdicts(self) -> dict[str, tuple[bool, str]]:
        found = results_of(checks_of(self.parts(), 60))
        return {name: (verdict.ok, verdict.detail) for name, verdict in found.items()}

    def wrong(self) -> list[str]:
        return [name for name, (ok, _) in self.verdicts().items() if not ok]


def test_healthy_server_is_ready() -> None:
    assert World().verdicts() == {
        "serving": (True, "serving"),
        "listeners": (True, "open"),
        "acls": (True, "loaded"),
        "store": (True, "reachable; revision 4 of 4, 0.0 s old"),
        "tls": (True, "loaded"),
    }


def test_each_check_fails_alone() -> None:
    draining, closed, loading, keyless = World(), World(), World(), World()
    draining.is_draining = True
    closed.is_open = False
    loading.is_loaded = False
    keyless.are_keys_loaded = False

    assert draining.wrong() == ["serving"]
    assert closed.wrong() == ["listeners"]
    assert loading.wrong() == ["acls"]
    assert keyless.wrong() == ["tls"]


def test_unavailable_shared_store_is_tolerated_temporarily() -> None:
    world = World()
    world.unavailable = "no route to host"
    world.sight_now = StoreStatus(reachable=False, revision=4, head_revision=6, age_s=59.9)
    assert world.verdicts()["store"] == (
        True,
        "not reachable: no route to host; revision 4 of 6, 59.9 s old",
    )

    world.sight_now = replace(world.sight_now, age_s=60.1)

    assert world.wrong() == ["store"]


def test_node_that_denies_everything_is_not_ready() -> None:
    world = World()
    world.sight_now = StoreStatus(reachable=False, revision=4, head_revision=4, age_s=5.0)
    world.state = replace(EMPTY, stale=True)

    assert world.verdicts()["store"] == (
        False,
        "reachable; revision 4 of 4, 5.0 s old: too old, access is denied",
    )


def test_lost_embedded_store_is_not_tolerated() -> None:
    world = World()
    world.unavailable, world.is_lost = "data/doorkeeper.db was removed", True

    assert world.verdicts()["store"] == (
        False,
        "not reachable: data/doorkeeper.db was removed; revision 4 of 4, 0.0 s old",
    )


async def test_unusable_files_stop_the_start(tmp_path: Path) -> None:
    settings = HttpSettings(host="127.0.0.1", port=0, tokens_file=tmp_path / "tokens")

    with pytest.raises(StartError, match="tokens: No such file"):
        OperationsPort(settings, World().parts(), Meters(), Log())
    with pytest.raises(ValueError, match=r"^doorkeeper.http.listener: the login cannot be used"):
        HttpPort(settings, Log())
    (tmp_path / "tokens").write_text("a-token-of-some-length")
    HttpPort(settings, Log())
