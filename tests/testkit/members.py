"""Members of a consumer group that are programs of several client libraries."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LIMIT_S = 120


class Member:
    """A program that prints a JSON line for each assignment and each record."""

    def __init__(self, group: Members, command: Sequence[str]) -> None:
        self._group = group
        self.assigned: tuple[int, ...] | None = None
        """Its partitions by its newest assignment; None before the first one."""
        self._process = subprocess.Popen(
            command, env=group.environment, stdout=subprocess.PIPE, text=True
        )
        self._thread = threading.Thread(target=self._collect)
        self._thread.start()

    def kill(self) -> None:
        """End it with SIGKILL, which it cannot notice."""
        self._process.kill()
        self._thread.join()

    def leave(self) -> None:
        """End it with SIGTERM, so that it leaves the group."""
        self._process.terminate()
        self._thread.join()
        assert self._process.wait() == 0

    def _collect(self) -> None:
        with self._process as process:
            assert process.stdout is not None
            for line in process.stdout:
                # The last line of a program that is killed may be cut.
                with suppress(json.JSONDecodeError):
                    self._group.note(self, json.loads(line))


class Members:
    """The members of one group, and what they have read."""

    def __init__(self, bootstrap: str, user: str, password: str) -> None:
        self.environment = {
            **os.environ,
            "KAFKA_BOOTSTRAP_SERVERS": bootstrap,
            "KAFKA_USER": user,
            "KAFKA_PASSWORD": password,
        }
        self.read: set[str] = set()
        self._changed = threading.Condition()
        self._started: list[Member] = []

    def start(self, command: Sequence[str]) -> Member:
        """Start a member."""
        self._started.append(Member(self, command))
        return self._started[-1]

    def note(self, member: Member, line: dict[str, Any]) -> None:
        """Apply a line that a member has printed."""
        with self._changed:
            if "assigned" in line:
                member.assigned = tuple(line["assigned"])
            else:
                self.read.add(line["read"])
            self._changed.notify_all()

    def wait_until_shared(self, members: Sequence[Member], partitions: int) -> None:
        """Wait until each partition has exactly one of the members, and each member has some.

        Raises:
            TimeoutError: it does not come to that.
        """

        def is_shared() -> bool:
            all_ = sorted(number for each in members for number in each.assigned or ())
            return all(each.assigned for each in members) and all_ == [*range(partitions)]

        self._wait(is_shared, lambda: f"assignments: {[each.assigned for each in members]}")

    def wait_until_read(self, values: set[str]) -> None:
        """Wait until the members have read all values.

        Raises:
            TimeoutError: it does not come to that.
        """
        self._wait(
            lambda: values <= self.read,
            lambda: f"not read: {sorted(values - self.read)}",
        )

    def close(self) -> None:
        """Kill those that still run."""
        for each in self._started:
            each.kill()

    def _wait(self, reached: Callable[[], bool], describe: Callable[[], str]) -> None:
        with self._changed:
            if not self._changed.wait_for(reached, scaled(LIMIT_S)):
                raise TimeoutError(describe())
