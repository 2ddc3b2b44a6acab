"""The commands of a night and what their exit statuses mean, for any scheduler."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

DONE = 0
CONTRADICTED = 4
OVER_BUDGET = 5


class NightFailedError(Exception):
    """A command failed, and the tables are those of the night before.

    ``again`` says whether the same command may succeed later, as after a rotation of a log.
    """

    def __init__(self, text: str, *, again: bool) -> None:
        """Keep the text and whether a retry can help."""
        super().__init__(text)
        self.again = again


@dataclass(frozen=True)
class Site:
    """A cluster, its logs and ACLs, and the folder for tables, report and findings."""

    cluster: str
    logs: str
    acls: str
    folder: str
    super_users: tuple[str, ...] = ()

    def run_command(self) -> list[str]:
        """Return the command that reads what is new."""
        users = [word for user in self.super_users for word in ("--super-user", user)]
        return [
            *("doorkeeper-pipeline", "run", "--quiet", "--cluster-name", self.cluster),
            *("--log", self.logs, "--acls", self.acls, "--tables", f"{self.folder}/access"),
            *users,
        ]

    def report_command(self) -> list[str]:
        """Return the command that writes the report, and what became of the findings."""
        return [
            *("doorkeeper-pipeline", "report", "--tables", f"{self.folder}/access"),
            *("--out", f"{self.folder}/report.html"),
            *("--findings", f"{self.folder}/findings.json", "--data", f"{self.folder}/data"),
        ]


def run(site: Site) -> bool:
    """Bring the tables up to date; return whether log, ACLs and options belong together.

    Where they do not (status 4), the tables are new, nothing is recommended, and the report says
    why.

    Raises:
        NightFailedError: the tables are those of the night before.

    """
    status, text = call(site.run_command())
    if status in (DONE, CONTRADICTED):
        return status == DONE
    if status == OVER_BUDGET:
        # The layout of the logs has changed: the same files give the same result tomorrow.
        raise NightFailedError(f"too many lines could not be read: {text}", again=False)
    raise NightFailedError(f"status {status}: {text}", again=status not in (1, 2))


def report(site: Site) -> Path:
    """Write the report and the file of findings; return where the report is.

    Raises:
        NightFailedError: it could not be written.

    """
    status, text = call(site.report_command())
    if status != DONE:
        raise NightFailedError(f"status {status}: {text}", again=False)
    return Path(site.folder, "report.html")


def call(command: Sequence[str]) -> tuple[int, str]:
    """Run a command, with its summary on our stdout; return its status and what is on stderr."""
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stderr.strip()
