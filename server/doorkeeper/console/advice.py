"""The advice of the pipeline about grants: the tables that ``report --data`` has written."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from doorkeeper.acls.filters import covers
from doorkeeper.acls.formats.csv import binding_of_row
from doorkeeper.acls.host_sets import contains
from doorkeeper.acls.model import AclPermissionType
from doorkeeper.acls.operations import IMPLIED_OPERATIONS
from doorkeeper.console.rendering import row_of_record
from doorkeeper.console.runs import Answer, Command
from doorkeeper.server.runtime.reloaded_files import Stamp, stamp_of

TABLES: Final = ("grant_usage", "unused_grants", "overbroad_grants")
_DECISIONS: Final = "decisions.jsonl"
_ACL: Final = {
    "resourceType": "resource_type",
    "name": "resource_name",
    "patternType": "pattern_type",
    "principal": "principal",
    "host": "host",
    "operation": "operation",
    "permissionType": "permission_type",
}


class Advice:
    """The grants of a folder of tables with their evidence; read again when a table changes."""

    def __init__(self, folder: Path, findings: Path | None = None) -> None:
        """Take the folder, and the file in which people accept findings."""
        self.folder = folder
        self.findings = findings
        self._lock = threading.Lock()
        self._version: tuple[Stamp, ...] = ()
        self._grants: list[dict[str, Any]] = []
        self.days: list[str] = []  # those of the decisions

    def answer(self) -> Answer:
        """Return all grants as the answer of the command that writes the tables."""
        words = ["report", "--tables=TABLES", "--out=report.html", f"--data={self.folder}"]
        if self.findings is not None:
            words.append(f"--findings={self.findings}")
        command = Command(tuple(words), program="doorkeeper-pipeline")
        try:
            grants = self.grants()
        except (OSError, msgspec.DecodeError) as error:
            return Answer(command, None, (), (f"{self.folder}: {error}",), 1)
        lines = [f"{row['verdict']}: {row_of_record(row['acl'])}: {row['why']}" for row in grants]
        return Answer(command, {"grants": grants}, tuple(lines), (), 0)

    def grants(self) -> list[dict[str, Any]]:
        """Return the grants, what can be removed first, then what is too wide.

        Raises:
            OSError: a table is missing.
            msgspec.DecodeError: a table is not JSON lines.
        """
        decisions = self.folder / _DECISIONS
        files = [decisions, *(self.folder / f"{name}.jsonl" for name in TABLES)]
        files += [] if self.findings is None else [self.findings]
        with self._lock:
            version = tuple(map(stamp_of, files))
            if version != self._version or not self._grants:
                rows = _rows(decisions) if decisions.exists() else ()
                self.days = sorted({str(row["day"])[:10] for row in rows})
                self._grants, self._version = self._read(), version
            return self._grants

    def _read(self) -> list[dict[str, Any]]:
        usage = list(_rows(self.folder / "grant_usage.jsonl"))
        unused = {row["binding_id"]: row for row in _rows(self.folder / "unused_grants.jsonl")}
        wide = {row["binding_id"]: row for row in _rows(self.folder / "overbroad_grants.jsonl")}
        accepted = self._accepted()
        grants = [
            _grant(row, unused.get(row["binding_id"]), wide.get(row["binding_id"]), accepted)
            for row in usage
        ]
        return sorted(grants, key=lambda row: (not row["unused"], not row["wide"], -row["rank"]))

    def _accepted(self) -> Mapping[str, Any]:
        if self.findings is None or not self.findings.exists():
            return {}
        document = msgspec.json.decode(self.findings.read_bytes())
        return document.get("findings", {}) if isinstance(document, dict) else {}

    def uses_by_day(self, grant: Mapping[str, Any]) -> Counter[str]:
        """Return the decisions that a grant covers, by day. O(the whole table of decisions)."""
        numbers: Counter[str] = Counter()
        pattern, entry = binding_of_row(row_of_record(acl := grant["acl"]))
        is_whole = entry.permission_type is AclPermissionType.ALLOW or acl["operation"] == "ALL"
        implied = IMPLIED_OPERATIONS[entry.operation] if is_whole else ()
        operations = {acl["operation"], *(operation.name for operation in implied)}
        try:
            for row in _rows(self.folder / _DECISIONS):
                if (
                    acl["resourceType"] == row["resource_type"]
                    and covers(pattern, row["resource_name"])
                    and acl["principal"] in (row["principal"], "User:*")
                    and row["operation"] in operations
                    and contains(acl["host"], row["host"], networks=True)
                ):
                    numbers[str(row["day"])[:10]] += row["count"]
        except OSError:
            return Counter()
        return numbers


def _grant(
    usage: Mapping[str, Any],
    unused: Mapping[str, Any] | None,
    wide: Mapping[str, Any] | None,
    accepted: Mapping[str, Any],
) -> dict[str, Any]:
    name = usage["binding_id"]
    findings = [finding for key, finding in accepted.items() if key.endswith(name)]
    until = [finding["accepted_until"] for finding in findings if finding.get("accepted_until")]
    ranks = ("LOW", "MEDIUM", "HIGH", "CRITICAL")
    severity = usage.get("severity") or "LOW"
    return {
        "id": name,
        "cluster": usage.get("cluster") or "",
        "acl": {key: usage[column] for key, column in _ACL.items()},
        "verdict": usage.get("verdict") or "",
        "rule": usage.get("rule") or "",
        "why": usage.get("why") or "",
        "severity": severity,
        "rank": ranks.index(severity) if severity in ranks else 0,
        "unused": unused is not None,
        "wide": wide is not None,
        "uses": usage["uses"],
        "lastUsed": usage.get("last_used"),
        "daysObserved": usage.get("days_observed"),
        "daysKnown": usage.get("days_known"),
        "usedNames": usage.get("resources") or [],
        "usedNameCount": usage.get("resource_count") or 0,
        "coveredNameCount": wide["covered_resource_count"] if wide else None,
        "excess": list(wide["excess"]) if wide else [],
        "proposal": list(wide["proposal"]) if wide else [],
        "command": (unused or {}).get("command") or "",
        "acceptedUntil": max(until, default=None),
    }


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    decoder = msgspec.json.Decoder(dict[str, Any])
    with path.open("rb") as lines:
        for line in lines:
            if line.strip():
                yield decoder.decode(line)
