"""Writes docs/decisions/README.md."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from testkit.checkout import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ROOT / "docs" / "decisions"
PAGE = FOLDER / "README.md"

SUBJECTS = (
    "Project and tests",
    "Wire codec",
    "Connections",
    "Authentication",
    "Authorization and ACLs",
    "State and storage",
    "Topics, groups and the catalog",
    "Configuration",
    "Audit log",
    "Logs, metrics and operations",
    "Performance",
    "Pipeline",
)
"""The sections of the index, in their order."""

HEAD = """\
# Decisions

Why the project is as it is: a page for each decision, with its context and its consequences. A
decision that no longer holds keeps its page, which names its successor.

Each page begins with a title that states the decision, and a header:

```
# 0270: One immutable state and one log replace five copies of the same mechanism

- Date: 2026-11-23
- Status: accepted; supersedes 0022
- Subject: State and storage
```

The status is `accepted`, or `superseded by` and a link to the later page. After a semicolon it
names the decisions that this one supersedes or changes, by number, or `changed by` and a link to
the one that changed it. Both pages must agree. The subject is one of the headings below. This
index is made from the headers by `make generate`; `make check` keeps it current.
"""

_LINK = r"\[\d{4}\]\(\d{4}-[a-z0-9-]+\.md\)"
_HEADER = re.compile(
    r"# (?P<number>\d{4}): (?P<title>[^\n]+[^\n.])\n\n"
    r"- Date: (?P<date>\d{4}-\d{2}-\d{2})\n"
    rf"- Status: (?P<status>accepted|superseded by {_LINK})(?:; (?P<note>[^\n]+))?\n"
    r"- Subject: (?P<subject>[^\n]+)\n\n"
)
_CHANGED_BY = re.compile(r"changed by (?P<links>[^;]+)")
_RELATIONS = re.compile(
    r"(?P<relation>supersedes|changes) (?P<numbers>\d{4}(?:(?:, | and )\d{4})*)"
)


class Decision(NamedTuple):
    """The header of one page."""

    file: str
    number: str
    title: str
    date: str
    status: str
    """``accepted``, or ``superseded by`` and a link."""
    note: str
    """The rest of the status, or an empty text."""
    subject: str

    @property
    def changed_by(self) -> list[str]:
        """Return the links to decisions that changed this one in part."""
        clause = _CHANGED_BY.search(self.note)
        return re.findall(_LINK, clause["links"]) if clause else []

    @property
    def successors(self) -> set[tuple[str, str]]:
        """Return the pairs of relation and number that the pages of later decisions must name."""
        pairs = {("changes", link[1:5]) for link in self.changed_by}
        if self.status != "accepted":
            pairs.add(("supersedes", re.findall(_LINK, self.status)[0][1:5]))
        return pairs

    @property
    def predecessors(self) -> set[tuple[str, str]]:
        """Return the pairs of relation and number of the decisions that this one replaces."""
        return {
            (found["relation"], number)
            for found in _RELATIONS.finditer(self.note)
            for number in re.findall(r"\d{4}", found["numbers"])
        }


def decision_files() -> list[Path]:
    """Return the pages of decisions, sorted by number."""
    return sorted(path for path in FOLDER.glob("*.md") if path != PAGE)


def parse(file: str, text: str) -> Decision:
    """Return a page's header.

    Raises:
        ValueError: If the page has no header in the form that the index describes.
    """
    header = _HEADER.match(text)
    if header is None or header["number"] != file[:4] or header["subject"] not in SUBJECTS:
        message = f"{file}: no header with title, date, status and a subject of the index"
        raise ValueError(message)
    return Decision(
        file=file,
        number=header["number"],
        title=header["title"],
        date=header["date"],
        status=header["status"],
        note=header["note"] or "",
        subject=header["subject"],
    )


def decisions() -> list[Decision]:
    """Return the headers of all pages, sorted by number."""
    return [parse(path.name, path.read_text(encoding="utf-8")) for path in decision_files()]


def page() -> str:
    """Return the text of the index."""
    found = decisions()
    return HEAD + "".join(
        _section(subject, [decision for decision in found if decision.subject == subject])
        for subject in SUBJECTS
    )


def _section(subject: str, found: list[Decision]) -> str:
    rows = [
        f"| [{decision.number}]({decision.file}) | {decision.title} | {decision.date} |"
        f" {_status(decision)} |\n"
        for decision in found
    ]
    return f"\n## {subject}\n\n| | decision | date | status |\n|---|---|---|---|\n" + "".join(rows)


def _status(decision: Decision) -> str:
    changed = " and ".join(decision.changed_by)
    return f"{decision.status}, changed by {changed}" if changed else decision.status


def pages() -> dict[Path, str]:
    """Return the text of each page."""
    return {PAGE: page()}
