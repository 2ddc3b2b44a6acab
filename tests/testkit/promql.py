"""Which metrics and labels a query of Prometheus names: enough of its grammar for our own."""

from __future__ import annotations

import re
from typing import NamedTuple

_TOKEN = re.compile(
    r'(?P<text>"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\')'
    r"|(?P<window>\[[^\]]*\])"
    r"|(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)"
    r"|(?P<number>[0-9][0-9a-z.]*)"
    r"|(?P<sign>=~|!~|!=|==|>=|<=|[-+*/%^(){}=<>,])"
    r"|(?P<space>\s+)"
)
WITH_LABELS = frozenset({"by", "without", "on", "ignoring", "group_left", "group_right"})
FUNCTIONS = frozenset(
    {
        *("sum", "min", "max", "avg", "count", "topk", "rate", "irate", "increase", "delta"),
        *("histogram_quantile", "time", "clamp_min", "clamp_max", "changes"),
    }
)
OPERATORS = frozenset({"and", "or", "unless", "bool", "offset"})


DEPTHS = {"(": 1, "{": 1, ")": -1, "}": -1}


class Query(NamedTuple):
    """What a query names."""

    metrics: frozenset[str]
    labels: frozenset[str]


def query(expression: str) -> Query:
    """Read a query.

    Raises:
        ValueError: it holds what this reader does not know, or its brackets do not match.

    """
    metrics, labels = set(), set()
    open_labels, wants_labels, depth = "", False, 0
    for kind, token in _tokens(expression):
        if kind == "sign":
            depth += DEPTHS.get(token, 0)
            if token == "{" or (token == "(" and wants_labels):
                open_labels = "}" if token == "{" else ")"
            elif token == open_labels:
                open_labels = ""
            wants_labels = False
        elif kind == "name":
            if open_labels:
                labels.add(token)
            elif token in WITH_LABELS:
                wants_labels = True
            elif token not in FUNCTIONS | OPERATORS:
                metrics.add(token)
    if depth:
        raise ValueError(f"found brackets that do not match: {expression}")
    return Query(frozenset(metrics), frozenset(labels))


def _tokens(expression: str) -> list[tuple[str, str]]:
    at, found = 0, []
    while at < len(expression):
        match = _TOKEN.match(expression, at)
        if match is None:
            raise ValueError(f"found {expression[at : at + 20]!r} in {expression}")
        kind = str(match.lastgroup)
        if kind not in ("space", "text", "window", "number"):
            found.append((kind, match.group()))
        at = match.end()
    return found
