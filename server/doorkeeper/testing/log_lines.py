"""The log of a server process, read while it runs."""

from __future__ import annotations

import json
import threading
import time
from typing import IO, Any


class LogLines:
    """Reads a process's output: JSON lines on stdout, any text on stderr."""

    def __init__(self, stdout: IO[bytes], stderr: IO[bytes]) -> None:
        """Start the reading threads."""
        self._streams = (stdout, stderr)
        self._came = threading.Condition()
        self._ended = False
        self.lines: list[dict[str, Any]] = []
        """The log lines so far."""
        self.errors = ""
        """The text on stderr so far."""
        self._readers = [
            threading.Thread(target=work, args=(stream,), daemon=True)
            for work, stream in zip((self._read, self._read_errors), self._streams, strict=True)
        ]
        for reader in self._readers:
            reader.start()

    def wait_for(self, event: str, timeout_s: float) -> dict[str, Any] | None:
        """Return the first line of an event; None at the end of the log, or after the timeout."""
        deadline_s = time.monotonic() + timeout_s
        with self._came:
            while not self._ended:
                for line in self.lines:
                    if line.get("event") == event:
                        return line
                left_s = deadline_s - time.monotonic()
                if left_s <= 0 or not self._came.wait(left_s):
                    return None
        return next((line for line in self.lines if line.get("event") == event), None)

    def close(self) -> None:
        """Read the rest after the process has ended, and close the streams."""
        for reader in self._readers:
            reader.join()
        for stream in self._streams:
            stream.close()

    def _read(self, stream: IO[bytes]) -> None:
        for line in stream:
            try:
                read = json.loads(line)
            except ValueError:
                # A plug-in may print to stdout.
                read = {"event": line.decode("utf-8", "replace").rstrip()}
            with self._came:
                self.lines.append(read)
                self._came.notify_all()
        with self._came:
            self._ended = True
            self._came.notify_all()

    def _read_errors(self, stream: IO[bytes]) -> None:
        for line in stream:
            self.errors += line.decode("utf-8", "replace")
