"""Options that several commands take, and the types of values."""

from __future__ import annotations

import datetime as dt
import math
import os
import re
import zoneinfo
from pathlib import Path

import click

from doorkeeper.acls.super_users import remark_on
from doorkeeper.base.encodings import is_unicode
from doorkeeper.cli.vocabulary.options import named_option, with_options
from doorkeeper_pipeline.cli.failures import say
from doorkeeper_pipeline.errors import PipelineError
from doorkeeper_pipeline.evaluation.evidence import DEFAULT_THRESHOLDS
from doorkeeper_pipeline.sources.acl_places import utc_time
from doorkeeper_pipeline.tables.places import is_address
from doorkeeper_pipeline.topics.addresses import is_topic

RELEASES = {"4.3": False, "4.4": True}
"""Whether hosts of ACLs may be networks, by the release of Kafka.

The first is the default: where a network is a text the grants beside it stay, and where it is none
they would be advised to go.
"""

STORES = ("s3", "s3a", "gs", "az", "abfs", "abfss")
"""The schemes of object stores that may hold tables."""

DAYS_MAX, BROKERS_MAX = 100_000, 100_000


def moment(text: str) -> dt.datetime:
    """Return the day or time that a text means, UTC where it has no zone."""
    try:
        return utc_time(text)
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f"found {text!r}; expected: a date or time such as 2026-11-22 or 2026-11-22T07:30+01:00"
        ) from None


def zone(text: str) -> str:
    """Return the name of a zone that there is."""
    try:
        return zoneinfo.ZoneInfo(text).key
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise click.BadParameter(
            f"found {text!r}; expected: a time zone such as UTC or Europe/Prague"
        ) from None


def setting(text: str) -> tuple[str, str]:
    """Return name and value of a setting of Spark, name=value."""
    name, equals, value = text.partition("=")
    if not equals or not name.startswith("spark."):
        raise click.BadParameter(
            f"found {text!r}; expected: a property such as spark.executor.memory=4g"
        )
    return name, value


class Number(click.FloatRange):
    """A number in a range, which "nan" is not, though it is neither below nor above one."""

    def convert(
        self, value: float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"found {value!r}; expected: a number", param, ctx)
        return number


class TablesPlace(click.Path):
    """A folder of tables: of this machine, or in an object store."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        """Return the path, or the address as a text.

        Another URI would be read as a relative path, and tables written to a folder ``hdfs:``.
        """
        if not str(value):
            self.fail("found an empty name; expected: a folder", param, ctx)
        scheme, colon, _ = str(value).partition("://")
        if colon and scheme in STORES:
            return str(value).rstrip("/")
        if is_address(str(value)):
            self.fail(
                f"found {value!r}; expected: a local folder, or"
                f" {', '.join(f'{store}://' for store in STORES)}. Mount other storage",
                param,
                ctx,
            )
        return super().convert(value, param, ctx)


def check_inputs(inputs: tuple[str, ...], config: Path | None, *, is_spark: bool) -> None:
    """Refuse addresses for the engine that reads none, and properties of a client without a topic.

    Raises:
        UsageError: there are some.

    """
    address = next((text for text in inputs if is_address(text) and not is_topic(text)), None)
    if address is not None and not is_spark:
        raise click.UsageError(
            f"--log: found {address!r}; the local engine supports local paths and topics"
            " (kafka://HOST:PORT/TOPIC). Mount the storage, or add --engine spark"
        )
    if config is not None and not any(map(is_topic, inputs)):
        raise click.UsageError("--command-config requires a topic: --log kafka://HOST:PORT/TOPIC")


def check_targets(*files: Path | None) -> None:
    """Check the places of the files to write, before all the work.

    Raises:
        UsageError: two of them are one file.
        PipelineError: there is no such folder.

    """
    targets = [file for file in files if file is not None]
    if len({target.absolute() for target in targets}) < len(targets):
        raise click.UsageError(f"{targets[0]}: found twice; expected: two files")
    for target in targets:
        if not target.parent.is_dir():
            raise PipelineError(f"{target}: no folder {target.parent}")


def _principals(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the principals of texts as super.users has them, with ; between.

    Empty parts are left out, as ``StandardAuthorizer.getConfiguredSuperUsers`` does.

    Raises:
        BadParameter: a text has no principal, or a part is none, so that no request could have it.

    """
    parts = [[part.strip() for part in value.split(";")] for value in values]
    principals = [principal for part in parts for principal in (list(filter(None, part)) or [""])]
    for principal in principals:
        if not re.fullmatch(r"[^:\s]+:.+", utf8(principal), re.DOTALL):
            raise click.BadParameter(
                f"found {principal!r}; expected: Type:name, such as User:admin"
            )
        remark = remark_on(principal)
        if remark:
            say(f"--super-user: {remark}")
    return tuple(principals)


def utf8(text: str) -> str:
    """Return a text, which the tables can have.

    Raises:
        BadParameter: it is not UTF-8.

    """
    if not is_unicode(text):
        raise click.BadParameter(f"found {text!a}; expected: UTF-8")
    return text


cluster = named_option("--cluster-name", "cluster", default="", type=utf8)
"""Select one of several clusters."""

out = named_option(
    "--tables", "out", required=True, type=TablesPlace(exists=True, file_okay=False, path_type=Path)
)
"""A folder of tables that is there."""

findings = named_option("--findings", type=click.Path(exists=True, dir_okay=False, path_type=Path))
"""A file of findings that is read."""


excluded = named_option("--exclude-principal", "excluded", multiple=True, callback=_principals)

_PERCENT, _POSITIVE = Number(0, 100), Number(0, DAYS_MAX)
evidence = with_options(
    *(
        named_option(
            name, field, type=kind, default=getattr(DEFAULT_THRESHOLDS, field), show_default=True
        )
        for name, field, kind in (
            ("--min-days", "days", _POSITIVE),
            ("--min-start-days", "start_days", _POSITIVE),
            ("--min-agreement", "agreement", _PERCENT),
            ("--min-coverage", "coverage", _PERCENT),
            ("--brokers", "brokers", click.IntRange(0, BROKERS_MAX)),
        )
    )
)
"""The fields of ``Thresholds``."""

policy = with_options(
    named_option("--super-user", "super_users", multiple=True, callback=_principals),
    named_option("--allow-everyone", is_flag=True),
    named_option(
        "--kafka",
        "release",
        type=click.Choice(list(RELEASES)),
        default=next(iter(RELEASES)),
        show_default=True,
    ),
)
"""How the cluster decides; the tables keep it."""
