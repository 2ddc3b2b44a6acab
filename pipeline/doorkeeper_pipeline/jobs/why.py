"""The verdicts about some grants with all that stands behind them: the command ``why``.

Facts and verdicts are those of the tables, as the last run left them; examples are sought in the
distinct decisions, and in the quarantine.

USED         a grant let the request through, or is the DENY that refused it
SHUT         a grant allows the request, and a DENY refused it
ASKED        a principal made the request
REFUSED      a principal made it, and it was refused
CONTRADICTS  a principal made it, and its recorded outcome is not that of the ACLs
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from doorkeeper.acls.filters import matches
from doorkeeper.acls.formats import csv, logged_principals
from doorkeeper.acls.model import WILDCARD_PRINCIPAL, AclBinding, AclBindingFilter
from doorkeeper_pipeline.errors import PipelineError
from doorkeeper_pipeline.evaluation.decision_table import Block, DecisionTable
from doorkeeper_pipeline.evaluation.evidence import NO_THRESHOLDS
from doorkeeper_pipeline.evaluation.index import Index
from doorkeeper_pipeline.evaluation.questions import COUNTS
from doorkeeper_pipeline.evaluation.verdicts import Activity, namesake
from doorkeeper_pipeline.jobs.asking import Question
from doorkeeper_pipeline.jobs.belonging import cluster_in
from doorkeeper_pipeline.jobs.gold import GoldInput
from doorkeeper_pipeline.jobs.observed import BASIS, activity_of, evidence_in
from doorkeeper_pipeline.sources.possible_principals import principals_of
from doorkeeper_pipeline.tables import contents
from doorkeeper_pipeline.tables.delta import Tables

NEAR_SHOWN = 5

USED, SHUT = "USED", "SHUT"
ASKED, REFUSED, CONTRADICTS = "ASKED", "REFUSED", "CONTRADICTS"

NO_BINDING: Final = -1
"""The number in the column ``binding`` of examples that are about a principal."""

_TEXTS = ("principal", "host", "operation", "resource_type", "resource_name", "outcome", "api")
_ORDER = ("last_ts", *_TEXTS)

EXAMPLES = {
    "about": pl.String(),
    "binding": pl.Int32(),
    **dict.fromkeys(_TEXTS, pl.String()),
    **COUNTS,
}

Row = dict[str, Any]


class Examples(NamedTuple):
    """What rows are examples of, and the rows: of ``EXAMPLES``, or of the quarantine."""

    title: str
    rows: tuple[Row, ...]


class Explanation(NamedTuple):
    """A grant with its rows of the tables.

    ``usage`` is the row of grant_usage; ``covered_by`` are the grants that allow what it was used
    for. ``given`` says that the time of ``known_from`` is that of its creation, not of a listing.
    ``unread`` says that lines of its principal could not be read for certain, ``nameless`` is the
    number of lines that may be of anybody.
    """

    binding: AclBinding
    usage: Row
    covered_by: tuple[AclBinding, ...]
    given: bool
    unread: bool
    nameless: int
    examples: tuple[Examples, ...]


class _Known(NamedTuple):
    """Rows of the tables of a cluster by the ids of bindings, and what is known of principals.

    ``quarantine`` are the files of that table. ``doubtful`` are the principals with decisions that
    contradict the ACLs.
    """

    usage: Mapping[str, Row]
    unused: Mapping[str, Row]
    quarantine: tuple[str, ...]
    activity: Mapping[str, Activity]
    doubtful: frozenset[str]


def explain(
    out: Path | str,
    asked: GoldInput,
    filters: Sequence[Sequence[AclBindingFilter]],
    *,
    most: int,
    cluster: str = "",
) -> list[Explanation]:
    """Return why each grant in force that one of the filters asks for has its verdict.

    Each group of ``filters`` must ask for one at least. ``most`` limits the examples of each kind.

    Raises:
        PipelineError: the tables have no grants, or a group asks for none; names the nearest.

    """
    acls = asked.acls
    numbers = sorted({number for group in filters for number in _chosen(asked, group)})
    known = _known_in(Tables(out), asked, cluster)
    ids = acls.ids
    rows = {number: known.usage.get(ids[number], {}) for number in numbers}
    if any(row.get("rule") is None for row in rows.values()):
        raise PipelineError(
            f"{out}: the tables were written by an earlier release; update them with"
            f" doorkeeper-pipeline run --tables {out}"
        )
    examples = _search(asked, known, rows, most)
    by_id = dict(zip(ids, acls.bindings, strict=True))
    return [
        Explanation(
            binding=acls.bindings[number],
            usage=row,
            covered_by=tuple(
                by_id[binding_id]
                for binding_id in known.unused.get(row["binding_id"], {}).get("covered_by", ())
                if binding_id in by_id
            ),
            given=acls.given[number],
            unread=row["principal"] in asked.unread.principals,
            nameless=asked.unread.nameless,
            examples=tuple(_examples(number, row, examples, known, most)),
        )
        for number, row in rows.items()
    ]


def _chosen(asked: GoldInput, group: Sequence[AclBindingFilter]) -> list[int]:
    """Return the numbers of the grants in force that one of the filters asks for."""
    bindings = asked.acls.bindings
    if not bindings:
        raise PipelineError(
            "the last run had no ACLs; run again with --acls FILE, the output of kafka-acls.sh"
            " --list"
        )
    numbers = [
        number
        for number, binding in enumerate(bindings)
        if any(matches(binding_filter, binding) for binding_filter in group)
    ]
    if not numbers:
        near = "".join(f"\n  {csv.row_of(binding)}" for binding in _nearest(group[0], bindings))
        raise PipelineError(f"no current ACL matches {_words(group[0])}; the nearest are{near}")
    return numbers


def _words(binding_filter: AclBindingFilter) -> str:
    """Return what a filter asks for, in the order of a row."""
    (resource_type, name, pattern_type), entry = binding_filter
    fields: tuple[str | Enum | None, ...] = (
        *(entry.principal, resource_type, pattern_type, name),
        *(entry.operation, entry.permission_type, entry.host),
    )
    texts = [field.name if isinstance(field, Enum) else field for field in fields]
    return ",".join("ANY" if text is None else text for text in texts)


def _nearest(binding_filter: AclBindingFilter, bindings: Sequence[AclBinding]) -> list[AclBinding]:
    from difflib import SequenceMatcher

    @cache
    def likeness(text: str, other: str) -> float:
        return SequenceMatcher(None, text.casefold(), other.casefold()).ratio()

    def distance(binding: AclBinding) -> float:
        (resource_type, name, pattern_type), entry = binding_filter
        texts = ((entry.principal, binding.entry.principal), (name, binding.pattern.name))
        words = (
            (entry.host, binding.entry.host),
            (resource_type, binding.pattern.resource_type),
            (pattern_type, binding.pattern.pattern_type),
            (entry.operation, binding.entry.operation),
        )
        alike = sum(2 * likeness(text, other) for text, other in texts if text is not None)
        return -alike - sum(word == other for word, other in words)

    return sorted(bindings, key=lambda binding: (distance(binding), binding))[:NEAR_SHOWN]


def _known_in(tables: Tables, asked: GoldInput, cluster: str) -> _Known:
    chosen = cluster_in(tables, cluster)
    names = ("grant_usage", "unused_grants", *BASIS)
    own = {name: chosen.own(tables.read(name)) for name in names}
    proof = evidence_in(own, asked.policy, NO_THRESHOLDS, has_acls=True)
    return _Known(
        {row["binding_id"]: row for row in own["grant_usage"].to_dicts()},
        {row["binding_id"]: row for row in own["unused_grants"].to_dicts()},
        tuple(tables.files("quarantine")),
        activity_of(asked),
        proof.doubtful,
    )


def _search(asked: GoldInput, known: _Known, rows: Mapping[int, Row], most: int) -> pl.DataFrame:
    """Return the examples of all grants that are asked for, and of the principals that matter."""
    if not most:
        return last_of(pl.DataFrame(schema=EXAMPLES), most)
    principals = {principal for row in rows.values() for principal in _principals(row, known)}
    question = partial(examples_in, asked.index, sorted(rows), sorted(principals), most)
    [parts] = asked.ask(Question(question, EXAMPLES))
    return last_of(parts, most)


def examples_in(
    index: Index,
    bindings: Sequence[int],
    principals: Sequence[str],
    most: int,
    table: DecisionTable,
) -> pl.DataFrame:
    """Return the last examples in distinct questions, not yet chosen among all.

    There are ``most`` of each kind for each binding, by number, and for each principal.
    """
    frames = table.find(index, lambda block: _in_block(bindings, principals, block), EXAMPLES)
    return last_of(frames, most)


def _in_block(bindings: Sequence[int], principals: Sequence[str], block: Block) -> pl.DataFrame:
    rows, matches = block.rows, block.matches
    chosen = np.isin(matches.bindings, np.array(bindings, np.int32))
    parts = [
        rows[matches.questions[pairs]].with_columns(
            pl.lit(about).alias("about"), pl.Series("binding", matches.bindings[pairs], pl.Int32)
        )
        for about, pairs in ((USED, chosen & matches.used), (SHUT, chosen & ~matches.used))
    ]
    allowed = pl.col("outcome") == "ALLOWED"
    kinds = (
        (ASKED, pl.lit(value=True)),
        (REFUSED, ~allowed),
        (CONTRADICTS, allowed != pl.Series(block.decisions.allowed)),
    )
    own = pl.col("principal").is_in(principals)
    parts += [
        rows.filter(own & kind).with_columns(
            pl.lit(about).alias("about"), pl.lit(NO_BINDING, pl.Int32).alias("binding")
        )
        for about, kind in kinds
    ]
    return pl.concat(parts)


def last_of(rows: pl.DataFrame, most: int) -> pl.DataFrame:
    """Return the last ``most`` examples of each kind for each grant, and each principal."""
    # Those of a grant are of any principals, the others of each.
    of_whom = pl.when(pl.col("binding") == NO_BINDING).then("principal").otherwise(pl.lit(""))
    return (
        rows.sort(_ORDER, descending=[True, *(False for _ in _TEXTS)])
        .group_by("about", "binding", of_whom.alias("of_whom"), maintain_order=True)
        .head(most)
        .drop("of_whom")
    )


def _principals(row: Row, known: _Known) -> frozenset[str]:
    """Return the principals whose requests say something about the verdict of a grant."""
    principal, rule = row["principal"], row["rule"]
    if rule == "renamed":
        return frozenset({namesake(principal, known.activity)})
    if rule == "unread":
        return frozenset(
            other
            for other in known.activity
            if principal in logged_principals.read(other).alternatives
        )
    if principal == WILDCARD_PRINCIPAL:
        return known.doubtful if rule == "doubt" else frozenset()
    return frozenset({principal})


def _examples(
    number: int, row: Row, examples: pl.DataFrame, known: _Known, most: int
) -> Iterator[Examples]:
    """Yield the examples that the rule of a verdict asks for, without those that have no rows."""
    rule, principals = row["rule"], _principals(row, known)
    of_grant = examples.filter(pl.col("binding") == number)
    about, title = _ABOUT_OF.get(rule, (ASKED, f"requests of {', '.join(sorted(principals))}"))
    requests = examples.filter(
        pl.col("binding") == NO_BINDING,
        pl.col("principal").is_in(list(principals)),
        pl.col("about") == about,
    )
    yield from _some("requests that used it", of_grant.filter(pl.col("about") == USED))
    if rule == "deny-first":
        yield from _some(
            "requests that it allows but a DENY denied", of_grant.filter(pl.col("about") == SHUT)
        )
    elif rule == "unread":
        lines = tuple(islice(_unread_lines(known.quarantine, row["principal"]), most))
        yield from [Examples("lines that could not be read", lines)] if lines else []
        yield from _some("requests of a similar principal", requests)
    elif rule in _ABOUT_OF:
        yield from _some(title, requests.head(most))
    elif not row["uses"]:
        yield from _some(title, requests)


_ABOUT_OF = {
    "doubt": (CONTRADICTS, "decisions that contradict the ACLs"),
    "refused": (REFUSED, "requests that were refused"),
}
"""What rules of verdicts ask for of the principals, where it is not what they asked for."""


def _some(title: str, rows: pl.DataFrame) -> Iterator[Examples]:
    if len(rows):
        yield Examples(title, tuple(rows.drop("about", "binding").to_dicts()))


def _unread_lines(files: Sequence[str], principal: str) -> Iterator[Row]:
    """Yield the lines of the quarantine that may be of a principal; User:* is anybody."""
    for file in files:
        frame = contents.scan("quarantine", [file]).filter(pl.col("text") != "").collect()
        for row in frame.iter_rows(named=True):
            named = principals_of(row["text"])
            if principal == WILDCARD_PRINCIPAL or principal in named.principals:
                yield {name: row[name] for name in ("file", "byte_offset", "reason", "text")}
