"""The end of an authorizer."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import structlog

from doorkeeper.server.app.authorizer import close
from doorkeeper.server.authorizer.guard import GuardedAuthorizer
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from testkit.logs import readable_logs

if TYPE_CHECKING:
    from pathlib import Path


class Stays(StandardAuthorizer):
    """Closes when the test ends; what a plug-in may catch it catches."""

    def close(self) -> None:
        while True:
            try:
                threading.Event().wait()
            except Exception:  # as plug-ins do
                time.sleep(0)


def test_hanging_close_times_out(tmp_path: Path) -> None:
    with readable_logs(tmp_path / "log") as log:
        close(GuardedAuthorizer(Stays()), structlog.get_logger("x"), most_s=0.2)

        # A second line may follow, about threads of other tests in this process.
        line = log.lines()[0]

    assert line["event"].startswith("the authorizer did not close: ")
    assert line["event"].endswith(".Stays")
    assert "TookTooLong: timed out after 0.2 s" in line["exception"]


def test_remaining_thread_is_named(tmp_path: Path) -> None:
    end = threading.Event()
    staying = threading.Thread(target=end.wait, name="policy-refresh")
    staying.start()
    try:
        with readable_logs(tmp_path / "log") as log:
            close(GuardedAuthorizer(StandardAuthorizer()), structlog.get_logger("x"))

            (line,) = log.lines()
    finally:
        end.set()
        staying.join()

    assert "policy-refresh" in line["threads"]
    assert line["authorizer"].endswith(".StandardAuthorizer")
