"""The file in which people say of findings who owns them, until when they are accepted, and why.

The table ``findings`` has what is found and since when. The report writes its rows into a small
JSON file, in which people edit ``owner``, ``accepted_until`` and ``note``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from doorkeeper_pipeline.errors import Conflicting, Unreadable

Row = Mapping[str, Any]


class Finding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A finding over time; ``accepted_until`` and ``resolved`` are None where they are not so."""

    kind: str
    text: str
    first_seen: date
    owner: str = ""
    accepted_until: date | None = None
    resolved: date | None = None
    note: str = ""


class _Document(msgspec.Struct, frozen=True):
    version: Literal[1]
    findings: dict[str, msgspec.Raw] = {}
    reported: date | None = None
    cluster: str = ""


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
        name: finding if finding.resolved else msgspec.structs.replace(finding, resolved=today)
        for name, finding in before.findings.items()
    }
    for row in rows:
        name, known = row["finding_id"], before.findings.get(row["finding_id"])
        gone = row["gone"]
        if known is None and gone is not None:
            continue
        first = row["first_seen"].date()
        text = f"{row['principal']}: {row['subject']}"
        new = Finding(kind=row["cause"], text=text, first_seen=first)
        findings[name] = msgspec.structs.replace(
            known or new,
            kind=new.kind,
            text=text,
            first_seen=first if known is None else min(first, known.first_seen),
            resolved=None if gone is None else gone.date(),
        )
    return Register(findings, today, cluster or before.cluster)


def _check_cluster(register: Register, cluster: str) -> None:
    if register.cluster and cluster and register.cluster != cluster:
        raise Conflicting(
            f"--findings: the file belongs to cluster {register.cluster!r}, but the tables belong"
            f" to cluster {cluster!r}: give each cluster its own file"
        )


def accepted(register: Register, today: date, cluster: str = "") -> dict[str, date]:
    """Return until when findings are accepted, by id, of those that are on a day.

    One that was resolved is among them: it may come back before the next report.

    Raises:
        Conflicting: the register is of another cluster.

    """
    _check_cluster(register, cluster)
    return {
        name: finding.accepted_until
        for name, finding in register.findings.items()
        if finding.accepted_until is not None and finding.accepted_until >= today
    }


def read(path: Path) -> Register:
    """Return the register in a file; it is empty if there is no file.

    Raises:
        Unreadable: it is no register; says what was found, and where.

    """
    try:
        document = msgspec.json.decode(path.read_bytes(), type=_Document)
    except FileNotFoundError:
        return Register({})
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise Unreadable(f"{path}: {error}") from error
    findings = {}
    for name, fields in document.findings.items():
        try:
            findings[name] = msgspec.json.decode(fields, type=Finding)
        except (ValueError, msgspec.MsgspecError) as error:
            raise Unreadable(f"{path}: finding {name!r}: {error}") from error
    return Register(findings, document.reported, document.cluster)


def text_of(register: Register) -> str:
    """Return a register as the text of its file, sorted."""
    document = {
        "version": 1,
        **({"cluster": register.cluster} if register.cluster else {}),
        "reported": register.reported,
        "findings": dict(sorted(register.findings.items())),
    }
    return json.dumps(msgspec.to_builtins(document), indent=2, ensure_ascii=True) + "\n"
