"""``doorkeeper-pipeline why``: the verdict about a grant, its reason, and what the log shows."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from doorkeeper.cli.vocabulary.commands import Command
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.options import PATTERN_TYPES, named_option, with_options
from doorkeeper_pipeline.cli import json_records, options
from doorkeeper_pipeline.cli.engine import ChosenEngine, engine_options
from doorkeeper_pipeline.cli.failures import HELP, STATUSES, printable, show
from doorkeeper_pipeline.cli.json_records import show_record

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Sequence

    from doorkeeper.acls.model import AclBindingFilter
    from doorkeeper_pipeline.jobs.why import Explanation, Row

EXAMPLES_SHOWN, EXAMPLES_MAX = 3, 10_000
TEXT_SHOWN = 300

_RESOURCES = {
    "topic": "TOPIC",
    "group": "GROUP",
    "transactional_id": "TRANSACTIONAL_ID",
    "delegation_token": "DELEGATION_TOKEN",
    "user_principal": "USER",
}
"""The types of resources by the options that name some."""

_GRANT_OPTIONS = with_options(
    named_option("--principal", "principals", multiple=True),
    named_option("--operation", "operations", multiple=True),
    *(named_option(f"--{name.replace('_', '-')}", multiple=True) for name in _RESOURCES),
    named_option("--cluster", "kafka_cluster", is_flag=True),
    named_option(
        "--resource-pattern-type",
        "pattern_type",
        type=click.Choice(["any", "match", "literal", "prefixed"], case_sensitive=False),
        choices=PATTERN_TYPES,
        default="any",
        show_default=True,
    ),
)
"""The options that name grants; those of resources are as of kafka-acls.sh."""


@click.command("why", cls=Command, epilog=STATUSES, context_settings=HELP)
@click.argument("rows", nargs=-1, metavar="[GRANT]...")
@options.out
@options.cluster
@_GRANT_OPTIONS
@named_option(
    "--examples",
    "most",
    type=click.IntRange(0, EXAMPLES_MAX),
    default=EXAMPLES_SHOWN,
    show_default=True,
)
@json_output(json_records.ExplainedGrants)
@engine_options
def command(
    *,
    rows: tuple[str, ...],
    out: Path | str,
    cluster: str,
    most: int,
    output: str,
    chosen: ChosenEngine,
    **grants: Any,
) -> None:
    """Explain the verdict about each GRANT: keep, not enough evidence, ask or remove.

    The answer has the deciding rule, its reason, the age and use of the grant, and
    examples from the history. Options select grants too. The rules:
    docs/reference/pipeline-reference.md. A GRANT is a row as doorkeeper acls prints it:

    \b
      KafkaPrincipal,ResourceType,PatternType,ResourceName,
      Operation,PermissionType,Host

    \b
    Examples:
      doorkeeper-pipeline why --tables access 'User:bob,TOPIC,LITERAL,bills,READ,ALLOW,*'
      doorkeeper-pipeline why --tables access --principal User:bob --operation Read --topic bills
      doorkeeper-pipeline why --tables access --principal User:bob --output json
    """
    from doorkeeper_pipeline.jobs.history import history
    from doorkeeper_pipeline.jobs.why import explain

    filters = filters_of(rows, **grants)
    with chosen.started() as (shown, engine):
        asked = history(out, engine, cluster=cluster)
        shown.tell("looking for examples")
        explanations = explain(out, asked, filters, most=most, cluster=cluster)
    if output == "json":
        show_record({"explanations": [as_record(explanation) for explanation in explanations]})
    else:
        show("\n\n".join(map(as_text, explanations)))


def filters_of(
    rows: Sequence[str],
    *,
    principals: Sequence[str],
    operations: Sequence[str],
    kafka_cluster: bool,
    pattern_type: str,
    **names: Sequence[str],
) -> list[list[AclBindingFilter]]:
    """Return the filters of each row, and those of all options together.

    Raises:
        UsageError: a row is not one, an operation is not Kafka's, or nothing names a grant.

    """
    from doorkeeper.acls.formats.csv import binding_of_row
    from doorkeeper.acls.formats.names import FormatError, operation
    from doorkeeper.acls.model import (
        ANY_BINDING,
        CLUSTER_NAME,
        AccessControlEntryFilter,
        AclBindingFilter,
        AclPermissionType,
        PatternType,
        ResourcePatternFilter,
        ResourceType,
        exactly,
    )

    try:
        filters = [[exactly(binding_of_row(row))] for row in rows]
        operation_types = [operation(name) for name in operations] or [ANY_BINDING.entry.operation]
    except FormatError as error:
        raise click.UsageError(str(error)) from None
    how = PatternType[pattern_type.upper()]
    patterns = [
        ResourcePatternFilter(ResourceType[resource_type], name, how)
        for option, resource_type in _RESOURCES.items()
        for name in names[option]
    ]
    if kafka_cluster:
        patterns.append(ResourcePatternFilter(ResourceType.CLUSTER, CLUSTER_NAME, how))
    if principals or operations or patterns:
        of_whom: list[str | None] = [*principals] or [None]
        combinations = product(patterns or [ANY_BINDING.pattern], of_whom, operation_types)
        filters.append(
            [
                AclBindingFilter(
                    pattern, AccessControlEntryFilter(who, None, does, AclPermissionType.ANY)
                )
                for pattern, who, does in combinations
            ]
        )
    if not filters:
        raise click.UsageError(
            "no ACL given; give a row such as User:bob,TOPIC,LITERAL,bills,READ,ALLOW,*, or"
            " options such as --principal, --operation and --topic"
        )
    return filters


def as_text(explanation: Explanation) -> str:
    """Return an explanation for people: the grant, the verdict, facts and examples."""
    from doorkeeper.acls.formats.csv import row_of

    usage = explanation.usage
    lines = [
        row_of(explanation.binding),
        f"{usage['verdict']} (rule {usage['rule']}): {usage['why']}",
    ]
    lines += [f"  {fact}" for fact in _facts(explanation)]
    for examples in explanation.examples:
        lines.append(f"  {examples.title}:")
        lines += [f"    {_line(row)}" for row in examples.rows]
    return "\n".join(map(printable, lines))


def _facts(explanation: Explanation) -> Iterator[str]:
    from doorkeeper.acls.formats.csv import row_of

    usage = explanation.usage
    age = "unknown: no listing has a date"
    if since := usage["known_from"]:
        age = f"{'given on' if explanation.given else 'in a listing of'} {since:%Y-%m-%d}"
    yield f"age: {age}; days of the history since then: {usage['days_known']:,}"
    yield f"days with decisions: {usage['days_observed']:,}"
    last = f", last {_moment(usage['last_used'])}" if usage["uses"] else ""
    yield f"uses: {usage['uses']:,}{last}; decided by it alone: {usage['decisive_uses']:,}"
    yield from (f"covered by: {row_of(binding)}" for binding in explanation.covered_by)
    if explanation.unread:
        yield f"unread lines that may belong to {usage['principal']}"
    if explanation.nameless:
        yield f"unread lines that may belong to any principal: {explanation.nameless:,}"


def _line(row: Row) -> str:
    """Return a decision much as Kafka logs it, or a line that could not be read with its place."""
    from doorkeeper.acls.formats.commands import kafkas_word
    from doorkeeper.acls.model import ResourceType

    if "byte_offset" in row:
        text = row["text"][:TEXT_SHOWN].rstrip("\n")
        return f"{row['file']}, byte {row['byte_offset']:,}: {row['reason']}: {text}"
    kind = kafkas_word(ResourceType[row["resource_type"]])
    request = f" for request = {row['api']}" if row["api"] else ""
    often = "" if row["count"] == 1 else f" ({row['count']:,} times since {row['first_ts']:%F})"
    return (
        f"[{_moment(row['last_ts'])}] Principal = {row['principal']} is"
        f" {row['outcome'].capitalize()} operation = {row['operation']} from host = {row['host']}"
        f" on resource = {kind}:LITERAL:{row['resource_name']}{request}{often}"
    )


def _moment(at: dt.datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03}"


def as_record(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation for programs: the row of grant_usage, and what is beside it."""
    from doorkeeper.acls.formats.csv import row_of

    usage = {name: value for name, value in explanation.usage.items() if name != "cluster"}
    return {
        "grant": row_of(explanation.binding),
        **usage,
        "given": explanation.given,
        "covered_by": [row_of(binding) for binding in explanation.covered_by],
        "unread": explanation.unread,
        "nameless_lines": explanation.nameless,
        "examples": [examples._asdict() for examples in explanation.examples],
    }
