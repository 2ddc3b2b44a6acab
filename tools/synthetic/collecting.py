"""The files of a labelled cluster: the logs of its brokers, its listings, and what is true of it.

    logs/broker-1/kafka-authorizer.log*   rotated, within what collectors write around lines
    listings/2026-07-01.csv               the ACLs in force on a day
    truth.csv                             each grant in force at the end, with its label

What is wrong with logs of real clusters is here too: hours that are missing, lines that cannot be
read, and in some clusters a fault of the collection after which nothing is known for certain.
"""

from __future__ import annotations

import csv
import gzip
import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import zstandard

from doorkeeper.acls.formats.choosing import Format, write
from doorkeeper.acls.model import AclOperation
from synthetic.deciding import Acls
from synthetic.lines import Asked, tail_of
from synthetic.uses import broker_host

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from synthetic.labelled import Cluster, Request

LOG = "kafka-authorizer.log"
_SUFFIXES = {Format.CSV: "csv", Format.KAFKA: "txt", Format.YAML: "yaml"}
_NAMELESS = (
    "java.lang.IllegalStateException: broken",
    "\tat kafka.server.KafkaApis.handle(K.java)",
)


class Line(NamedTuple):
    """A line of a broker, without what stands around it."""

    at: dt.datetime
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """The files, as a tool is given them: logs, and listings with their dates where they have some.

    ``super_users`` are those that it is told. ``brokers`` is how many there are.
    """

    logs: tuple[Path, ...]
    acls: tuple[str, ...]
    super_users: frozenset[str]
    allow_everyone: bool
    brokers: int


def collect(cluster: Cluster, folder: Path) -> Collected:
    """Write all files of a cluster into a folder.

    Raises:
        OSError: the folder cannot be written.

    """
    rng = random.Random(f"{cluster.quarter.seed} files")
    folders = []
    for number, lines in enumerate(logged(cluster, rng)):
        if number == 0 and cluster.quarter.fault == "a broker missing":
            continue
        folders.append(folder / "logs" / f"broker-{number + 1}")
        _write_log(cluster, number, _without_lost(cluster, number, lines, rng), folders[-1])
    acls = _write_listings(cluster, folder / "listings")
    write_truth(cluster, folder / "truth.csv")
    is_told = cluster.quarter.fault != "super users missing"
    return Collected(
        logs=tuple(folders),
        acls=acls,
        super_users=cluster.policy.super_users if is_told else frozenset(),
        allow_everyone=cluster.policy.allow_everyone,
        brokers=cluster.quarter.brokers,
    )


def logged(cluster: Cluster, rng: random.Random) -> list[list[Line]]:
    """Return the lines of each broker, each request at one of them, in the order of time."""
    quarter = cluster.quarter
    found: list[list[Line]] = [[] for _ in range(quarter.brokers)]
    changes = sorted(
        {day for each in cluster.grants for day in (each.given, each.taken) if day is not None}
    )
    acls, until = Acls(cluster.listed(0), cluster.policy), iter([*changes, float("inf")])
    change = next(until)
    for request in cluster.requests:
        if request.day >= quarter.days:
            break
        while request.day >= change:
            acls, change = Acls(cluster.listed(change), cluster.policy), next(until)
        decision = acls.decide(request.question)
        if decision.allowed and quarter.fault == "refusals only":
            continue
        who, host, operation, kind, name = request.question
        asked = Asked(request.printed or who, host, operation.name, kind.name, name, request.api)
        line = Line(
            cluster.at(request.day), _spoilt(request, tail_of(asked, decision, quarter.era))
        )
        for broker in _brokers_of(request, quarter.brokers, rng):
            found[broker].append(line)
    return found


def _brokers_of(request: Request, count: int, rng: random.Random) -> Iterable[int]:
    """Return the brokers that a request is sent to: brokers ask all others."""
    if request.question.operation is not AclOperation.CLUSTER_ACTION or count == 1:
        return [rng.randrange(count)]
    return [each for each in range(count) if broker_host(each) != request.question.host]


def _spoilt(request: Request, text: str) -> str:
    """Return a line as a writer, or a filter on its way, has spoilt it."""
    match request.fault:
        case "operation":
            return text.replace(request.question.operation.name, "READX", 1).replace(
                request.question.operation.name.capitalize(), "ReadX", 1
            )
        case "host":
            return text.replace(f"from host = {request.question.host}", "from host = ", 1)
        case "verb":
            return text.replace(" is Allowed ", " is Permitted ", 1)
        case "cut":
            return text[: text.index("peration = ") + 12]
        case _:
            return text


def _without_lost(
    cluster: Cluster, number: int, lines: list[Line], rng: random.Random
) -> list[Line]:
    """Return the lines of a broker without those of some hours, and with some that say nothing.

    A line is lost only where another of the same kind is left at some broker: what was logged once,
    in an hour that is missing, nobody can know.
    """
    quarter = cluster.quarter
    if quarter.fault == "files missing" and number == 0:
        begin = rng.uniform(0, 0.6) * quarter.days
        lost = (cluster.at(begin), cluster.at(begin + 0.3 * quarter.days))
        lines = [each for each in lines if not lost[0] <= each.at < lost[1]]
    if quarter.fault == "lines dropped":
        share = random.Random(f"{quarter.seed} share").choice((0.1, 0.3, 0.6))
        lines = [each for each in lines if rng.random() < share]
    often = {each.text for each in _repeated(lines)}
    for _ in range(quarter.outages):
        day = rng.randrange(quarter.days)
        hours = rng.sample(range(24), 12)
        gone = {(cluster.at(day).date(), hour) for hour in hours}
        lines = [
            each
            for each in lines
            if each.text not in often or (each.at.date(), each.at.hour) not in gone
        ]
    for each in rng.sample(range(len(lines)), min(len(lines) // 400, 8)):
        lines.insert(each, Line(lines[each].at, rng.choice(_NAMELESS)))
    return lines


def _repeated(lines: list[Line]) -> Iterable[Line]:
    """Return lines whose text is on twenty days or more."""
    days: dict[str, set[dt.date]] = {}
    for each in lines:
        days.setdefault(each.text, set()).add(each.at.date())
    return (each for each in lines if len(days[each.text]) >= 20)


def _write_log(cluster: Cluster, number: int, lines: list[Line], folder: Path) -> None:
    quarter = cluster.quarter
    folder.mkdir(parents=True)
    size = max(1, -(-len(lines) // quarter.files))
    parts = [lines[begin : begin + size] for begin in range(0, len(lines), size)]
    around = ENVELOPES[quarter.envelopes[number]]
    for place, part in enumerate(parts):
        name = LOG
        if place < len(parts) - 1:
            end = len(parts) - 1 - place
            suffix = str(end) if quarter.numbered else f"{part[-1].at:%Y-%m-%d-%H}"
            name = f"{LOG}.{suffix}{quarter.compressed}"
        data = "".join(f"{around(number, each)}\n" for each in part).encode()
        if name.endswith(".gz"):
            data = gzip.compress(data, 1)
        elif name.endswith(".zst"):
            data = zstandard.compress(data)
        (folder / name).write_bytes(data)


def _record(line: Line) -> str:
    """Return the line as Kafka's pattern writes it; what is no record has no time."""
    if line.text in _NAMELESS:
        return line.text
    return f"[{line.at:%Y-%m-%d %H:%M:%S},{line.at.microsecond // 1000:03d}] {line.text}"


def _iso(line: Line) -> str:
    return f"{line.at:%Y-%m-%dT%H:%M:%S}.{line.at.microsecond:06d}Z"


ENVELOPES: dict[str, Callable[[int, Line], str]] = {
    "": lambda _, line: _record(line),
    "kubectl": lambda number, line: f"[pod/kafka-{number}/kafka] {_record(line)}",
    "compose": lambda number, line: f"broker-{number}  | {_record(line)}",
    "docker": lambda _, line: json.dumps(
        {"log": f"{_record(line)}\n", "stream": "stdout", "time": _iso(line)}
    ),
    "cri": lambda _, line: f"{_iso(line)} stdout F {_record(line)}",
    "filebeat": lambda number, line: json.dumps(
        {"@timestamp": _iso(line), "message": _record(line), "host": {"name": f"kafka-{number}"}}
    ),
    "gelf": lambda number, line: json.dumps(
        {
            "version": "1.1",
            "host": f"kafka-{number}",
            "short_message": _record(line),
            "timestamp": round(line.at.timestamp(), 3),
        }
    ),
    "grep": lambda number, line: f"/var/log/kafka-{number}/{LOG}:{_record(line)}",
}
"""What is around a line, by the name of who writes it; of a broker's number and the line."""


def _write_listings(cluster: Cluster, folder: Path) -> tuple[str, ...]:
    """Write the listings; return them as ``--acls`` takes them, the last one at the end."""
    quarter = cluster.quarter
    folder.mkdir(parents=True)
    form = Format(quarter.listing_form)
    days = [*range(0, quarter.days, quarter.listing_days), quarter.days]
    if quarter.fault == "no dates":
        days = days[-1:]
    places = []
    for day in days:
        at = cluster.at(day)
        path = folder / f"{at:%Y-%m-%d}.{_SUFFIXES[form]}"
        path.write_text(write(cluster.listed(day), form), encoding="utf-8", newline="")
        dated = f"{path}@{at:%Y-%m-%dT%H:%M:%S}"
        places.append(str(path) if quarter.fault == "no dates" else dated)
    return tuple(places)


def write_truth(cluster: Cluster, path: Path) -> None:
    """Write the label and the use of each grant that is in force at the end."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["label", "use", *TRUTH_COLUMNS])
        for each in sorted(cluster.present(), key=lambda grant: grant.binding):
            (kind, name, pattern_type), (who, host, operation, permission) = each.binding
            rows.writerow(
                [
                    *(each.label.value, each.use, who, kind.name, pattern_type.name, name),
                    *(operation.name, permission.name, host),
                ]
            )


TRUTH_COLUMNS = (
    *("KafkaPrincipal", "ResourceType", "PatternType", "ResourceName", "Operation"),
    *("PermissionType", "Host"),
)
