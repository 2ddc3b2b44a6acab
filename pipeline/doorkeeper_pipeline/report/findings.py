"""Findings with a life: first seen, owned, accepted for some time, resolved.

A small JSON file keeps them from report to report. People edit ``owner``, ``accepted_until`` and
``note``; the rest is written by the report.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from doorkeeper_pipeline.errors import Conflicting, Unreadable
from doorkeeper_pipeline.evaluation.refusals import BY_NAME, TO_DECIDE
from doorkeeper_pipeline.jobs.left_out import refusal_id
from doorkeeper_pipeline.report.amounts import amount, day, number
from doorkeeper_pipeline.report.model import Column, Kind, Section, Table, Tag
from doorkeeper_pipeline.report.power import broad_grants_in, dormant_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from doorkeeper_pipeline.report.frames import Frames, Row
    from doorkeeper_pipeline.report.model import About

VERSION = 1
NEW, OPEN, ACCEPTED, EXPIRED, RESOLVED = "NEW", "OPEN", "ACCEPTED", "EXPIRED", "RESOLVED"
_ORDER = (EXPIRED, NEW, OPEN, ACCEPTED, RESOLVED)
_STATES = {
    NEW: Tag("new", "It was not in the report before.", strong=True),
    OPEN: Tag("open"),
    ACCEPTED: Tag("accepted", "Its owner accepted it until the date."),
    EXPIRED: Tag(
        "acceptance expired", "The date until which it was accepted is over.", strong=True
    ),
    RESOLVED: Tag("resolved", "It is not there any more."),
}
_DATES = ("first_seen", "accepted_until", "resolved")


class Found(NamedTuple):
    """A finding of this report: its kind, its text, and its principal.

    ``proved``: enough to be new.
    """

    kind: str
    text: str
    principal: str = ""
    proved: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A finding over time; ``accepted_until`` and ``resolved`` are None where they are not so."""

    kind: str
    text: str
    first_seen: date
    owner: str = ""
    accepted_until: date | None = None
    resolved: date | None = None
    note: str = ""

    def state(self, today: date) -> str:
        """Return its state on a day."""
        if self.resolved is not None:
            return RESOLVED
        if self.accepted_until is not None:
            return ACCEPTED if today <= self.accepted_until else EXPIRED
        return NEW if self.first_seen == today else OPEN


class Register(NamedTuple):
    """All findings by their ids, the day of the last report, and the name of the cluster.

    The day is None before the first report, the name empty where ``run`` was given none.
    """

    findings: Mapping[str, Finding]
    reported: date | None = None
    cluster: str = ""


def search(frames: Frames) -> dict[str, Found]:
    """Return the findings that tables show, by ids that stay from report to report."""
    found: dict[str, Found] = {}
    for row in broad_grants_in(frames):
        text = f"{row['opens']}: {_acl(row)}"
        found[f"broad:{row['binding_id']}"] = Found("broad grant", text, row["principal"])
    for principal in dormant_in(frames):
        text = f"grants and no request: {principal}"
        found[f"dormant:{principal}"] = Found("dormant", text, principal)
    unused = frames.get("unused_grants")
    if unused is not None:
        for row in unused.filter(pl.col("proposal") != "KEEP").collect().to_dicts():
            proved = row["proposal"] == "REMOVE"
            text = f"redundant: {_acl(row)}"
            found[f"unused:{row['binding_id']}"] = Found(
                "unused grant", text, row["principal"], proved
            )
    denied = frames.get("denied")
    if denied is not None:
        asking = (
            denied.filter(pl.col("cause").is_in(TO_DECIDE))
            .select(refusal_id().alias("id"), "cause", "principal")
            .unique()
            .collect()
        )
        for name, cause, principal in asking.iter_rows():
            text = f"refused, {BY_NAME[cause].word}: {principal}"
            found[name] = Found("refusals", text, principal)
    return found


def follow(
    before: Register, found: Mapping[str, Found], today: date, cluster: str = ""
) -> Register:
    """Return the register after a report: new findings enter, those that are gone are resolved.

    A finding that came back is open again, with the day on which it was seen first.

    Raises:
        Conflicting: the register is of another cluster.

    """
    _check_cluster(before, cluster)
    findings = dict(before.findings)
    for name, finding in before.findings.items():
        if name in found:
            findings[name] = replace(finding, text=found[name].text, resolved=None)
        elif finding.resolved is None:
            findings[name] = replace(finding, resolved=today)
    for name, each in found.items():
        if name not in findings and each.proved:
            findings[name] = Finding(kind=each.kind, text=each.text, first_seen=today)
    return Register(findings, today, cluster or before.cluster)


def _check_cluster(register: Register, cluster: str) -> None:
    if register.cluster and cluster and register.cluster != cluster:
        raise Conflicting(
            f"--findings: the file is of the cluster {register.cluster!r}, and the tables are about"
            f" {cluster!r}: give each cluster its own file"
        )


def read(path: Path) -> Register:
    """Return the register in a file; it is empty if there is no file.

    Raises:
        Unreadable: it is no register; says what was found, and where.

    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Register({})
    except (OSError, ValueError) as error:
        raise Unreadable(f"{path}: {error}") from error
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise Unreadable(f'{path}: found no register of findings; expected is "version": {VERSION}')
    try:
        findings = {
            str(name): _finding(name, fields)
            for name, fields in _object("findings", document.get("findings", {})).items()
        }
        reported = document.get("reported")
        day_of_it = None if reported is None else _day("reported", reported)
        return Register(findings, day_of_it, _text("cluster", document.get("cluster", "")))
    except ValueError as error:
        raise Unreadable(f"{path}: {error}") from error


def accepted(register: Register, today: date, cluster: str = "") -> dict[str, date]:
    """Return until when findings are accepted, by id, of those that are on a day.

    Raises:
        Conflicting: the register is of another cluster.

    """
    _check_cluster(register, cluster)
    return {
        name: each.accepted_until
        for name, each in register.findings.items()
        if each.accepted_until is not None and each.state(today) == ACCEPTED
    }


def text_of(register: Register) -> str:
    """Return a register as the text of its file, sorted."""
    document = {
        "version": VERSION,
        **({"cluster": register.cluster} if register.cluster else {}),
        "reported": None if register.reported is None else register.reported.isoformat(),
        "findings": {name: _fields(each) for name, each in sorted(register.findings.items())},
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def without(register: Register, found: Mapping[str, Found], excluded: Sequence[str]) -> Register:
    """Return a register without the findings of some principals: they are not shown, but kept."""
    findings = {
        name: each
        for name, each in register.findings.items()
        if name not in found or found[name].principal not in excluded
    }
    return register._replace(findings=findings)


def section_of(before: Register, now: Register, today: date, about: About) -> Section:
    """Return the section with the findings, and the changes since the last report."""
    rows = sorted(
        now.findings.items(),
        key=lambda each: (_ORDER.index(each[1].state(today)), each[1].kind, each[1].text),
    )
    return Section(
        id="findings",
        word="Findings",
        title="Findings, and what became of them",
        lead=(_lead(before, now, today),),
        tables=(
            Table(
                id="findings-list",
                title="Findings",
                columns=(
                    Column(title="State", kind=Kind.TAG, choice=True),
                    Column(title="Kind", kind=Kind.TEXT, choice=True),
                    Column(title="Finding", kind=Kind.NAME),
                    Column(title="First seen", kind=Kind.TEXT),
                    Column(title="Owner", kind=Kind.NAME, choice=True),
                    Column(title="Accepted until", kind=Kind.TEXT),
                    Column(title="Note", kind=Kind.NAME),
                ),
                rows=tuple(
                    (
                        _STATES[each.state(today)],
                        each.kind,
                        each.text,
                        day(each.first_seen),
                        each.owner or None,
                        None if each.accepted_until is None else day(each.accepted_until),
                        each.note or None,
                    )
                    for _, each in rows[: about.rows_max]
                ),
                total=len(rows),
                whole="the file of the findings",
                empty="There is none.",
            ),
        ),
    )


def _lead(before: Register, now: Register, today: date) -> str:
    states = Counter(each.state(today) for each in now.findings.values())
    gone = sum(
        each.resolved is None and now.findings[name].resolved is not None
        for name, each in before.findings.items()
    )
    new = len(now.findings.keys() - before.findings.keys())
    since = "" if before.reported is None else f" since the report of {day(before.reported)}"
    standing = sum(states[each] for each in (NEW, OPEN, EXPIRED))
    return (
        f"{amount(standing, 'finding')} to look at, {number(states[ACCEPTED])} accepted."
        f" {number(new)} new and {number(gone)} resolved{since}."
    )


def _acl(row: Row) -> str:
    star = "*" if row["pattern_type"] == "PREFIXED" else ""
    host = "" if row["host"] == "*" else f" from {row['host']}"
    what = f"{row['operation']} on {row['resource_type']} {row['resource_name']}{star}"
    # The page shortens a long text: what the finding is stands before the name that may be long.
    return f"{what}{host} for {row['principal']}"


def _fields(finding: Finding) -> dict[str, Any]:
    fields = {name: getattr(finding, name) for name in Finding.__dataclass_fields__}
    return {
        name: value.isoformat() if isinstance(value, date) else value
        for name, value in fields.items()
    }


def _finding(name: str, found: object) -> Finding:
    """Return a finding of its properties in the file.

    Raises:
        ValueError: one is unknown, missing, or not of its type.

    """
    try:
        return Finding(**_properties(_object("", found)))
    except (TypeError, ValueError) as error:
        raise ValueError(f"finding {name!r}: {error}") from error


def _properties(fields: Mapping[str, object]) -> dict[str, Any]:
    allowed = tuple(Finding.__dataclass_fields__)
    unknown = next((each for each in fields if each not in allowed), None)
    if unknown is not None:
        raise ValueError(f"unknown property {unknown!r}; allowed: {', '.join(allowed)}")
    values: dict[str, Any] = {"first_seen": _day("first_seen", fields.get("first_seen"))}
    for name, value in fields.items():
        if name not in _DATES:
            values[name] = _text(name, value)
        elif value is not None:
            values[name] = _day(name, value)
    return values


def _object(name: str, found: object) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ValueError(_refusal_text(name, found, "an object"))
    return found


def _text(name: str, found: object) -> str:
    if not isinstance(found, str):
        raise ValueError(_refusal_text(name, found, "a text"))
    return found


def _day(name: str, found: object) -> date:
    try:
        return date.fromisoformat(_text(name, found))
    except ValueError as error:
        raise ValueError(_refusal_text(name, found, "a day such as 2026-11-26")) from error


def _refusal_text(name: str, found: object, expected: str) -> str:
    return f"{name}: found {found!r}; expected is {expected}".removeprefix(": ")
