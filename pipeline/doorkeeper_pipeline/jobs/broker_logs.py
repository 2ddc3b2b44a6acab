"""Logs of brokers among the files that were read, and the days with allowed decisions of each.

Each broker logs its own decisions, so a history without one of them lacks a part of every day, and
still has decisions on each. Files of one log are its rotations: their names differ in a
number or a date, or they begin alike. Logs that follow each other in time are one too, as those of
a pod that got another name. Copies that were cut elsewhere and named otherwise look like a log of
their own, which ends early. Doorkeeper's audit log names the node of each event.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from doorkeeper_pipeline.evaluation.evidence import BrokerLog
from doorkeeper_pipeline.evaluation.numbering import Stretch, days_between, numbers_in
from doorkeeper_pipeline.jobs.belonging import AUTHORIZER_LOG

File = Mapping[str, Any]

FEW_DAYS = 3
"""A name with fewer days is no log by itself: chunks in object stores have random names."""

_DATE = re.compile(r"[./_-]?\d{4}([./_-]?)\d\d\1\d\d(?:[T./_-]\d\d(?!\d))*(?=\D|\Z)")
_ROTATION = re.compile(r"(?:\.\d{1,6})?(?:\.(?:gz|zst|bz2|xz))?\Z")


def broker_logs(files: Iterable[File]) -> tuple[BrokerLog, ...] | None:
    """Return the logs of brokers by rows of the table files, named by their newest files.

    None where decisions do not say whose they are: those of other audit logs, and log lines in a
    topic.
    """
    nodes: dict[str, list[Stretch]] = defaultdict(list)
    logs: list[list[File]] = []
    by_name: dict[str, int] = {}
    by_head: dict[str, int] = {}
    for file in sorted(files, key=lambda file: str(file["path"])):
        if file["first_ts"] is None:
            continue  # it has no decision
        if numbers := numbers_in(file):
            for stretch in numbers:
                nodes[stretch.origin].append(stretch)
            continue
        if file["source"] != AUTHORIZER_LOG or file["topic_id"] is not None:
            return None
        name, head = name_of(file["path"]), file["head_sha256"]
        number = by_name.get(name, by_head.get(head, len(logs)))
        if number == len(logs):
            logs.append([])
        logs[number].append(file)
        by_name.setdefault(name, number)
        by_head.setdefault(head, number)
    return (
        *map(_log_of, _succeeding(logs)),
        *(_log_of_node(node, own) for node, own in sorted(nodes.items())),
    )


def name_of(path: str) -> str:
    """Return a path without the dates and numbers of rotations, and without .gz and the like."""
    return _ROTATION.sub("", _DATE.sub("", path))


def _succeeding(logs: list[list[File]]) -> list[list[File]]:
    """Join logs that follow each other; where all are too short to tell, they are one."""
    whole = list(chain.from_iterable(logs))
    if not whole:
        return []
    fewest = min(FEW_DAYS, len(_days(whole)))
    long = [log for log in logs if len(_days(log)) >= fewest] or [whole]
    joined: list[list[File]] = []
    for log in sorted(long, key=_first):
        before = [earlier for earlier in joined if _last(earlier) <= _first(log)]
        if before:
            max(before, key=_last).extend(log)
        else:
            joined.append(list(log))
    return joined


def _log_of(files: list[File]) -> BrokerLog:
    newest = max(files, key=lambda file: file["last_ts"])
    return BrokerLog(newest["path"], frozenset().union(*map(_allowed_days, files)))


def _log_of_node(node: str, stretches: list[Stretch]) -> BrokerLog:
    """Return the log of a node; days without an event are covered if no number is missing."""
    allowed = [stretch for stretch in stretches if stretch.has_allowed]
    first = min((stretch.begin_us for stretch in allowed), default=0)
    last = max((stretch.end_us for stretch in allowed), default=0)
    return BrokerLog(node, frozenset(days_between(first, last)), is_node=True)


def _allowed_days(file: File) -> frozenset[dt.date]:
    """Return the days with decisions that were allowed: at INFO the authorizer logs none.

    Earlier releases did not keep them, and all days are taken for such.
    """
    days = file["allowed_days"]
    return _days([file]) if days is None else frozenset(map(dt.date.fromisoformat, days))


def _days(files: list[File]) -> frozenset[dt.date]:
    return frozenset(dt.date.fromisoformat(day) for file in files for day in file["days"])


def _first(files: list[File]) -> dt.datetime:
    first: dt.datetime = min(file["first_ts"] for file in files)
    return first


def _last(files: list[File]) -> dt.datetime:
    last: dt.datetime = max(file["last_ts"] for file in files)
    return last
