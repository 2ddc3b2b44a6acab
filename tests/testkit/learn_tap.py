"""``doorkeeper learn --bootstrap-server`` in a process of its own."""

import signal
import subprocess
import sys

from testkit.load import scaled


class Tap:
    """``doorkeeper learn`` in front of an address, until its end."""

    def __init__(self, address: str, *words: str) -> None:
        command = ("-m", "doorkeeper", "learn", "--bootstrap-server", address, *words)
        self._process = subprocess.Popen(
            [sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self._process.stderr is not None
        notice = self._process.stderr.readline()
        self.address = notice.partition("tap on ")[2].partition(",")[0]

    def end(self) -> tuple[str, str]:
        """Send SIGTERM; return the ACLs that it printed, and its notes."""
        self._process.send_signal(signal.SIGTERM)
        printed, notes = self._process.communicate(timeout=scaled(60))
        assert self._process.returncode == 0
        return printed, notes
