"""Checks that all inputs of an output folder belong together: no decision twice, and one cluster.

They look at the rows of the table ``files``: of this run and of all earlier ones, since the
decisions of a log that was deleted stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doorkeeper_pipeline.errors import Conflicting
from doorkeeper_pipeline.sources import authorizer_log

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Mapping

    File = Mapping[str, Any]

LISTED_MAX = 5


def check_logs(files: Iterable[File]) -> None:
    """Check that no authorizer log covers a time that an audit log covers.

    A server that writes both records each decision in both, at times that differ by some
    milliseconds and merged in different ways, so that equal decisions cannot be told apart from
    repeated ones.

    Raises:
        Conflicting: one does; names the first two such files.

    """
    dated = [each for each in files if each["first_ts"] is not None]
    dated.sort(key=lambda each: (each["first_ts"], each["path"]))
    logs = [each for each in dated if each["source"] == authorizer_log.SOURCE]
    for audit in dated:
        if audit["source"] == authorizer_log.SOURCE:
            continue
        for log in logs:
            begin = max(audit["first_ts"], log["first_ts"])
            end = min(audit["last_ts"], log["last_ts"])
            if begin <= end:
                raise Conflicting(
                    f"{audit['path']} ({audit['source']}) and {log['path']} ({log['source']}) both"
                    f" have decisions from {_text(begin)} to {_text(end)} UTC, which would count"
                    " twice if one server wrote both: leave the authorizer log out (the audit log"
                    " has all of it, and cannot be forged), or add --different-servers if the two"
                    " are of different servers"
                )


def check_clusters(files: Iterable[File]) -> None:
    """Check that the events of all files name one cluster at most.

    Raises:
        Conflicting: they name several; lists them, each with a file.

    """
    found: dict[str, str] = {}
    for file in files:
        for cluster in file["clusters"] or ():
            found.setdefault(cluster, file["path"])
    if len(found) > 1:
        named = [f"{cluster} (in {found[cluster]})" for cluster in sorted(found)]
        more = [f"and {len(named) - LISTED_MAX} more"] if len(named) > LISTED_MAX else []
        raise Conflicting(
            f"the events are of {len(found)} clusters: {', '.join([*named[:LISTED_MAX], *more])}."
            " Tables are about one: choose it by --event-cluster, and give each other one its own"
            " --out"
        )


def check_name(known: str, given: str) -> str:
    """Return the name of the cluster: the given one, or else that of earlier runs.

    Raises:
        Conflicting: the tables are about another cluster.

    """
    if known and given and known != given:
        raise Conflicting(
            f"--cluster: found {given!r}, and these tables are about {known!r}: give each cluster"
            " its own --out"
        )
    return given or known


def _text(time: dt.datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S}"
