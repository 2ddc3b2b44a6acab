"""Ids, texts and commands of many bindings at once, and the literal grants for many needs.

The results are those of ``bindings`` and of ``doorkeeper.acls.privileges.least``, for the rows of a
frame. The functions that know Kafka's rules are asked about each different part once: a principal,
a host, a resource, an operation. The parts do not depend on each other, so the answers are joined.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial

import polars as pl

from doorkeeper.acls.formats.commands import KAFKA_ACLS, options_of
from doorkeeper.acls.formats.names import FormatError
from doorkeeper.acls.model import (
    CLUSTER_NAME,
    WILDCARD,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acls.operations import satisfied_by
from doorkeeper.acls.privileges import grant_of
from doorkeeper_pipeline.bindings import BOOTSTRAP, FIELDS, ID_LENGTH, TEXT, word

NAME = ("resource_type", "resource_name")
_DIGEST_BYTES = 18
"""The bytes of a digest that make an id: a multiple of three, so that they can be encoded together.
"""
_PLAIN = "^[A-Za-z0-9_.][A-Za-z0-9_.-]*$"
_STAND_IN = "0-any-plain-name-0"
"""Names that no shell and no tool changes have the answer of this one, with themselves in it."""


def frame_of(bindings: Iterable[AclBinding]) -> pl.DataFrame:
    """Return the seven fields of bindings, in their order."""
    rows = [
        (resource_type.name, name, pattern.name, who, host, does.name, permission.name)
        for (resource_type, name, pattern), (who, host, does, permission) in bindings
    ]
    return pl.DataFrame(rows, dict.fromkeys(FIELDS, pl.String), orient="row")


def bindings_of(frame: pl.DataFrame) -> list[AclBinding]:
    """Return the bindings of rows.

    Raises:
        FormatError: a word is not Kafka's.

    """
    # The classes look names up in ten times the time of a dictionary.
    types = {member.name: member for member in ResourceType}
    patterns = {member.name: member for member in PatternType}
    operations = {member.name: member for member in AclOperation}
    permissions = {member.name: member for member in AclPermissionType}
    try:
        return [
            AclBinding(
                ResourcePattern(types[resource_type], name, patterns[pattern]),
                AccessControlEntry(who, host, operations[does], permissions[permission]),
            )
            for resource_type, name, pattern, who, host, does, permission in frame.select(
                FIELDS
            ).iter_rows()
        ]
    except KeyError as error:
        raise FormatError(f"ACLs: found {error}, which is not a value of Kafka") from error


def allow_literally(host: str | None = None) -> list[pl.Expr]:
    """Return the columns that make an access (principal, operation, name) an ALLOW on it."""
    return [
        pl.lit(PatternType.LITERAL.name).alias("pattern_type"),
        pl.lit(AclPermissionType.ALLOW.name).alias("permission_type"),
        *([] if host is None else [pl.lit(host).alias("host")]),
    ]


def ids_of(frame: pl.DataFrame) -> pl.Series:
    """Return the ids of bindings, as ``bindings.id_of`` does."""
    fields = ("resource_type", "resource_name", "pattern_type", *FIELDS[3:])
    parts = [
        part
        for name in fields
        for part in (pl.col(name).str.len_chars().cast(pl.String), pl.lit(":"), pl.col(name))
    ]
    texts = frame.select(pl.concat_str(parts)).to_series().to_list()
    digest = hashlib.sha256
    beginnings = b"".join([digest(text.encode()).digest()[:_DIGEST_BYTES] for text in texts])
    encoded = base64.urlsafe_b64encode(beginnings).decode("ascii")
    width = _DIGEST_BYTES * 4 // 3
    ids = [encoded[at : at + ID_LENGTH] for at in range(0, len(encoded), width)]
    return pl.Series("binding_id", ids, pl.String)


def text() -> pl.Expr:
    """Return an expression for the texts of bindings, as ``bindings.text_of`` makes them."""
    return pl.format(TEXT, *map(pl.col, FIELDS))


def commands_of(frame: pl.DataFrame, *, remove: bool = False, arguments: str = "") -> pl.Series:
    """Return the kafka-acls.sh commands that add or remove bindings, or '' where none can.

    Each is one line of bash that prints safely with any names. ``arguments`` are more words of it,
    as the shell shall read them. The tool has no words for an operation that the type of resource
    does not know, and would cut blanks off.
    """
    for number, names in enumerate(_WORDS):
        frame = _with_answers(frame, names, partial(_words, names), pl.String(), f"words{number}")
    tool = f"{KAFKA_ACLS} --bootstrap-server {BOOTSTRAP} {arguments and f'{arguments} '}"
    does = pl.lit("--add")
    if remove:
        # Without a DENY more may be allowed than the history shows: the tool asks.
        allows = pl.col("permission_type") == AclPermissionType.ALLOW.name
        does = pl.when(allows).then(pl.lit("--remove --force")).otherwise(pl.lit("--remove"))
    words = pl.concat_str(pl.lit(tool), does, *(f"words{number}" for number in range(len(_WORDS))))
    return frame.select(words.fill_null("").alias("command")).to_series()


def is_grantable(frame: pl.DataFrame) -> pl.Series:
    """Return for each access whether an ALLOW can say it, as ``privileges.grant_of`` does."""
    asked = (("principal",), ("host",), ("resource_type", "operation"), NAME)
    for number, names in enumerate(asked):
        frame = _with_answers(frame, names, partial(_grant, names), pl.Boolean(), f"can{number}")
    return frame.select(
        pl.all_horizontal(f"can{number}" for number in range(len(asked)))
    ).to_series()


def literal_grants(needs: pl.DataFrame, by: Sequence[str] = ()) -> pl.DataFrame:
    """Return the grants that needs come to, as ``privileges.least`` does without prefixes.

    ``by`` are further columns of the needs that tell groups apart. The result has them, the fields
    of a binding, count, first_ts and last_ts, sorted by the bindings within each group.
    """
    codes = {member.name: int(member) for member in AclOperation}
    types = {member.name: int(member) for member in ResourceType}
    access = [*by, "principal", "host", *NAME]
    needs = needs.filter(is_grantable(needs))
    bit = pl.lit(1, pl.Int64) * 2 ** pl.col("operation").replace_strict(
        codes, return_dtype=pl.Int64
    )
    masks = needs.group_by(access).agg(bit.cast(pl.Int64).unique().sum().alias("operations"))
    needs = needs.join(masks, on=access, how="left")
    needs = _with_answers(
        needs, ("operation", "operations"), _implying_operation, pl.String(), "as"
    )
    return (
        needs.group_by(*access, pl.col("as").alias("operation"))
        .agg(pl.col("count").sum(), pl.col("first_ts").min(), pl.col("last_ts").max())
        .with_columns(*allow_literally())
        .sort(
            *by,
            pl.col("resource_type").replace_strict(types, return_dtype=pl.Int64),
            "resource_name",
            "principal",
            "host",
            pl.col("operation").replace_strict(codes, return_dtype=pl.Int64),
        )
        .select(*by, *FIELDS, "count", "first_ts", "last_ts")
    )


def _with_answers(
    frame: pl.DataFrame,
    names: Sequence[str],
    function: Callable[..., object],
    kind: pl.DataType,
    answer: str,
) -> pl.DataFrame:
    """Add a column of the answers of a function to each different combination of columns.

    Of plain names of resources one is asked about, in place of all.
    """
    if "resource_name" in names:
        is_plain = pl.col("resource_name").str.contains(_PLAIN) & (
            pl.col("resource_type") != ResourceType.CLUSTER.name
        )
        frame = frame.with_columns(
            pl.when(is_plain).then(pl.lit(_STAND_IN)).otherwise("resource_name").alias("asked")
        )
        names = ["asked" if name == "resource_name" else name for name in names]
    asked = frame.select(names).unique()
    values = [function(*row) for row in asked.iter_rows()]
    answers = asked.with_columns(pl.Series(answer, values, kind))
    frame = frame.join(answers, on=list(names), how="left", maintain_order="left")
    if "asked" not in names:
        return frame
    if kind == pl.String():
        own = pl.col(answer).str.replace(_STAND_IN, pl.col("resource_name"), literal=True)
        is_plain = pl.col("asked") == _STAND_IN
        frame = frame.with_columns(pl.when(is_plain).then(own).otherwise(answer).alias(answer))
    return frame.drop("asked")


def _implying_operation(operation: str, operations: int) -> str:
    """Return the operation of those used on a name for which another one counts."""
    own = AclOperation[operation]
    others = (
        other
        for other in AclOperation
        if operations >> other & 1 and other is not own and satisfied_by(own, other)
    )
    return min(others, default=own).name


def _whole(names: Sequence[str], values: Sequence[str]) -> AclBinding:
    """Return a binding with some fields, and any others that go with them."""
    fields = {**_ANY, **dict(zip(names, values, strict=True))}
    if fields["resource_type"] == ResourceType.CLUSTER.name and "resource_name" not in names:
        fields["resource_name"] = CLUSTER_NAME
    kind, name, pattern, who, host, does, permission = (fields[field] for field in FIELDS)
    return AclBinding(
        ResourcePattern(ResourceType[kind], name, PatternType[pattern]),
        AccessControlEntry(who, host, AclOperation[does], AclPermissionType[permission]),
    )


@lru_cache(1 << 16)
def _grant(names: Sequence[str], *values: str) -> bool:
    (kind, name, _), entry = _whole(names, values)
    return grant_of(entry.principal, kind, name, entry.operation, entry.host) is not None


@lru_cache(1 << 16)
def _words(names: Sequence[str], *values: str) -> str | None:
    """Return the words of bash for some fields, a blank before each; None where one can be none."""
    options = options_of(_whole(names, values))
    if options is None:
        return None
    at = options.index("--operation")
    words = [word(option) for option in options[_WORDS[names](at)]]
    return None if None in words else "".join(f" {quoted}" for quoted in words)


_ANY = dict(zip(FIELDS, ("TOPIC", "a", "LITERAL", "User:a", WILDCARD, "ALL", "ALLOW"), strict=True))
_WORDS: dict[Sequence[str], Callable[[int], slice]] = {
    ("permission_type", "principal"): slice,
    ("permission_type", "host"): lambda at: slice(2, at),
    ("resource_type", "operation"): lambda at: slice(at, at + 2),
    ("resource_type", "resource_name", "pattern_type"): lambda at: slice(at + 2, None),
}
"""The fields that options of kafka-acls.sh have together, and which: by the place of the operation.
"""
