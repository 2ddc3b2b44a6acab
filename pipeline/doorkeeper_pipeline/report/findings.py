"""The file in which people say of findings who owns them, until when they are accepted, and why.

The table ``findings`` has what is found and since when. The report writes its rows into a small
JSON file, in which people edit ``owner``, ``accepted_until`` and ``note``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from doorkeeper_pipeline.errors import Conflicting, Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from doorkeeper_pipeline.report.frames import Row

VERSION = 1
_DATES = ("first_seen", "accepted_until", "resolved")


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


class Register(NamedTuple):
    """All findings by their ids, the day of the last report, and the name of the cluster.

    The day is None before the first report, the name empty where ``run`` was given none.
    """

    findings: Mapping[str, Finding]
    reported: date | None = None
    cluster: str = ""


def update(before: Register, rows: Iterable[Row], today: date, cluster: str = "") -> Register:
    """Return the register after a report on the rows of the table ``findings``.

    Raises:
        Conflicting: the register is of another cluster.

    """
    _check_cluster(before, cluster)
    findings = {
        name: each if each.resolved else replace(each, resolved=today)
        for name, each in before.findings.items()
    }
    for row in rows:
        name, known = row["finding_id"], before.findings.get(row["finding_id"])
        gone = row["gone"]
        if known is None and gone is not None:
            continue
        first = row["first_seen"].date()
        new = Finding(kind=row["cause"], text=_text_of(row), first_seen=first)
        findings[name] = replace(
            known or new,
            kind=new.kind,
            text=new.text,
            first_seen=first if known is None else min(first, known.first_seen),
            resolved=None if gone is None else gone.date(),
        )
    return Register(findings, today, cluster or before.cluster)


def _text_of(row: Row) -> str:
    return f"{row['principal']}: {row['subject']}"


def _check_cluster(register: Register, cluster: str) -> None:
    if register.cluster and cluster and register.cluster != cluster:
        raise Conflicting(
            f"--findings: the file belongs to cluster {register.cluster!r}, but the tables belong"
            f" to cluster {cluster!r}: give each cluster its own file"
        )


def accepted(register: Register, today: date, cluster: str = "") -> dict[str, date]:
    """Return until when findings are accepted, by id, of those that are on a day.

    Raises:
        Conflicting: the register is of another cluster.

    """
    _check_cluster(register, cluster)
    return {
        name: each.accepted_until
        for name, each in register.findings.items()
        if each.accepted_until is not None
        and each.accepted_until >= today
        and each.resolved is None
    }


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
        raise Unreadable(f'{path}: not a findings file; expected: "version": {VERSION}')
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


def text_of(register: Register) -> str:
    """Return a register as the text of its file, sorted."""
    document = {
        "version": VERSION,
        **({"cluster": register.cluster} if register.cluster else {}),
        "reported": None if register.reported is None else register.reported.isoformat(),
        "findings": {name: _fields(each) for name, each in sorted(register.findings.items())},
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


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
        raise ValueError(_refusal_text(name, found, "a string"))
    return found


def _day(name: str, found: object) -> date:
    try:
        return date.fromisoformat(_text(name, found))
    except ValueError as error:
        raise ValueError(_refusal_text(name, found, "a date such as 2026-11-26")) from error


def _refusal_text(name: str, found: object, expected: str) -> str:
    return f"{name}: found {found!r}; expected: {expected}".removeprefix(": ")
