"""Following of an audit log: the last lines, then new ones, across files.

A file that is closed and compressed while it is read continues in the closed file with the same
events: numbers of events identify the position, so no event is repeated or skipped.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from doorkeeper.server.operations.audit.names import files_in
from doorkeeper.server.operations.audit.reading import UnreadableFile, event_of, lines_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from doorkeeper.server.operations.audit.names import AuditFile


class Tail:
    """The position in an audit log, by node."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._last: dict[int, int] = {}
        self._offsets: dict[Path, int] = {}
        self.unreadable: dict[str, str] = {}
        """Files that could not be read, with the reason."""

    def new(self) -> Iterator[dict[str, Any]]:
        """Yield the new events: those of each node in order."""
        for file in files_in(self._folder):
            last = self._last.get(file.node, 0)
            if file.last is not None and file.last <= last:
                continue
            for event in self._events(file):
                if event["seq"] > self._last.get(file.node, 0):
                    self._last[file.node] = event["seq"]
                    yield event

    def last_lines(self, count: int) -> list[dict[str, Any]]:
        """Return the last ``count`` events, and set the position behind them.

        Only files that can contain them are read.
        """
        files = files_in(self._folder)
        for node in {file.node for file in files}:
            self._skip([file for file in files if file.node == node], count)
        # Nodes number their events independently; only times order them together.
        events = sorted(self.new(), key=lambda event: event["ts_ns"])
        return list(deque(events, maxlen=count))

    def _skip(self, files: list[AuditFile], count: int) -> None:
        """Skip closed files of a node that have enough events behind them."""
        closed = [file for file in files if file.last is not None]
        behind = 0
        for file in reversed(closed):
            assert file.last is not None
            if behind >= count:
                self._last[file.node] = file.last
                return
            behind += file.last - file.first + 1

    def _events(self, file: AuditFile) -> Iterator[dict[str, Any]]:
        try:
            if file.last is None:
                yield from self._events_being_written(file)
            else:
                for line in lines_of(file):
                    if (event := event_of(line.data)) is not None:
                        yield event
        except (UnreadableFile, OSError) as error:
            if file.path.exists():
                self.unreadable[file.path.name] = str(error)

    def _events_being_written(self, file: AuditFile) -> Iterator[dict[str, Any]]:
        with file.path.open("rb") as stream:
            stream.seek(self._offsets.get(file.path, 0))
            for line in stream:
                if not line.endswith(b"\n"):
                    # The server is still writing this line: read it again next time.
                    return
                self._offsets[file.path] = self._offsets.get(file.path, 0) + len(line)
                if (event := event_of(line)) is not None:
                    yield event
