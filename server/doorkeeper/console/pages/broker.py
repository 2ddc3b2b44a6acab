"""The configuration of a broker or a controller, checked by all rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from doorkeeper.console.page import Asked, Page
from doorkeeper.console.rendering import Rows
from doorkeeper.console.runs import Answer, Command

RELEASES: Final = ("4.3", "4.4")


def commands(asked: Asked) -> Sequence[Command]:
    """Return the command, once there is a file."""
    if not asked.get("file"):
        return []
    file = asked.file("file", "server.properties")
    # Its paths are those of another machine, and not to be tried on this one.
    words = ["--broker", "--no-stores", *asked.option("--kafka", "kafka")]
    if asked.get("no-jaas"):
        words.append("--no-jaas-file")
    return [asked.command("config", "check", *words, file)]


def show(asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the findings of the page that is asked for, errors first."""
    values: dict[str, Any] = {"releases": RELEASES, "text": asked.text("file")}
    if answers:
        findings = sorted(answers[0].record["findings"], key=lambda finding: finding["severity"])
        values["findings"] = Rows(findings, asked.number)
    return values


PAGE = Page(
    "broker",
    "Check a broker's configuration",
    "Paste the server.properties of a broker or a controller: what keeps it from starting, and what"
    " opens it to others.",
    commands,
    show,
    needs_set=False,
    long=("file",),
    is_secret=True,
)
