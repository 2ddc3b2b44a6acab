"""Options that several commands take."""

from __future__ import annotations

import datetime as dt
import os
import re
import zoneinfo
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from doorkeeper.acls.super_users import remark_on
from doorkeeper.cli.vocabulary.options import named_option
from doorkeeper_pipeline.cli.failures import say
from doorkeeper_pipeline.evaluation.evidence import DEFAULT_THRESHOLDS
from doorkeeper_pipeline.sources.recognising import SOURCES
from doorkeeper_pipeline.topics.addresses import is_topic

RELEASES = {"4.3": False, "4.4": True}
"""Whether hosts of ACLs may be networks, by the release of Kafka."""

STORES = ("s3", "s3a", "gs", "az", "abfs", "abfss")
"""The schemes of object stores that may hold tables."""

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
F = TypeVar("F", bound="Callable[..., Any]")


class Moment(click.ParamType[dt.datetime]):
    """A day or a time, UTC where it has no zone."""

    name = "time"

    def convert(
        self,
        value: object,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> dt.datetime:
        """Return the time that a text means."""
        if isinstance(value, dt.datetime):
            return value
        try:
            found = dt.datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(
                f"found {value!r}; expected: a date or time such as 2026-11-22 or"
                " 2026-11-22T07:30+01:00",
                param,
                ctx,
            )
        return found if found.tzinfo else found.replace(tzinfo=dt.UTC)


class Zone(click.ParamType[str]):
    """The name of a time zone."""

    name = "zone"

    def convert(
        self,
        value: object,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str:
        """Return the name of a zone that there is."""
        try:
            return zoneinfo.ZoneInfo(str(value)).key
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            self.fail(
                f"found {value!r}; expected: a time zone such as UTC or Europe/Prague", param, ctx
            )


class LocalPath(click.Path):
    """A path of this machine; an address of other storage is refused."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        """Return the path.

        A URI would be read as a relative path, and tables written to a folder called ``s3a:``.
        """
        if _URI.match(str(value)):
            self.fail(
                f"found {value!r}; expected: a local path. Mount the storage, or copy the files",
                param,
                ctx,
            )
        return super().convert(value, param, ctx)


def check_inputs(inputs: tuple[str, ...], *, is_spark: bool) -> None:
    """Refuse addresses for the engine that reads none.

    Raises:
        UsageError: there is one.

    """
    address = next((each for each in inputs if _URI.match(each) and not is_topic(each)), None)
    if address is not None and not is_spark:
        raise click.UsageError(
            f"--log: found {address!r}; the local engine supports local paths and topics"
            " (kafka://HOST:PORT/TOPIC). Mount the storage, or add --engine spark"
        )


def check_config(inputs: tuple[str, ...], config: Path | None) -> None:
    """Refuse properties of a client where there is no topic that needs one.

    Raises:
        UsageError: there is none.

    """
    if config is not None and not any(map(is_topic, inputs)):
        raise click.UsageError("--command-config requires a topic: --log kafka://HOST:PORT/TOPIC")


class Setting(click.ParamType[tuple[str, str]]):
    """A setting of Spark, name=value."""

    name = "setting"

    def convert(
        self,
        value: object,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[str, str]:
        """Return the name and the value."""
        if isinstance(value, tuple):
            return value
        name, equals, rest = str(value).partition("=")
        if not equals or not name.startswith("spark."):
            self.fail(
                f"found {value!r}; expected: a property such as spark.executor.memory=4g",
                param,
                ctx,
            )
        return name, rest


class TablesPlace(LocalPath):
    """A folder of tables: of this machine, or in an object store."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        """Return the path, or the address as a text."""
        scheme, colon, _ = str(value).partition("://")
        if colon and scheme in STORES:
            return str(value).rstrip("/")
        if _URI.match(str(value)):
            self.fail(
                f"found {value!r}; expected: a local folder, or"
                f" {', '.join(f'{each}://' for each in STORES)}. Mount other storage",
                param,
                ctx,
            )
        return super().convert(value, param, ctx)


def zone(function: F) -> F:
    """Add --zone."""
    option = named_option("--zone", type=Zone(), default="UTC", show_default=True)
    return option(function)


def source(function: F) -> F:
    """Add --source."""
    option = named_option("--source", type=click.Choice(list(SOURCES)), default_text="recognised")
    return option(function)


def inputs(function: F) -> F:
    """Add --log, --source, --pattern and --zone."""
    for option in (
        zone,
        named_option("--pattern", default=""),
        source,
        named_option("--log", "inputs", multiple=True),
    ):
        function = option(function)
    return function


def cluster(function: F) -> F:
    """Add --cluster-name, which selects one of several."""
    option = named_option("--cluster-name", "cluster", default="")
    return option(function)


def command_config(function: F) -> F:
    """Add --command-config."""
    option = named_option(
        "--command-config", type=click.Path(path_type=Path), default_text="none, for PLAINTEXT"
    )
    return option(function)


def out(function: F) -> F:
    """Add --tables, of a folder that is there."""
    option = named_option(
        "--tables",
        "out",
        required=True,
        type=TablesPlace(exists=True, file_okay=False, path_type=Path),
    )
    return option(function)


LAST = "as in the last run"
"""Of the options that a run keeps with its tables."""


def evidence(function: F) -> F:
    """Add --min-days, --min-start-days, --min-agreement, --min-coverage, --brokers of a run."""
    return _evidence(function, is_run=True)


def last_evidence(function: F) -> F:
    """Add the same; without them those of the last run count."""
    return _evidence(function, is_run=False)


def _evidence(function: F, *, is_run: bool) -> F:
    percent, positive = click.FloatRange(0, 100), click.FloatRange(0)
    for name, kind, default in (
        ("--brokers", click.IntRange(0), DEFAULT_THRESHOLDS.brokers),
        ("--min-coverage", percent, DEFAULT_THRESHOLDS.coverage),
        ("--min-agreement", percent, DEFAULT_THRESHOLDS.agreement),
        ("--min-start-days", positive, DEFAULT_THRESHOLDS.start_days),
        ("--min-days", positive, DEFAULT_THRESHOLDS.days),
    ):
        option = named_option(
            name,
            type=kind,
            default=default if is_run else None,
            show_default=is_run,
            default_text=None if is_run else LAST,
        )
        function = option(function)
    return function


def excluded(function: F) -> F:
    """Add --exclude-principal of a run."""
    return _excluded(function, is_run=True)


def last_excluded(function: F) -> F:
    """Add the same; without it those of the last run count."""
    return _excluded(function, is_run=False)


def _excluded(function: F, *, is_run: bool) -> F:
    option = named_option(
        "--exclude-principal",
        "excluded",
        multiple=True,
        callback=_principals,
        default_text=None if is_run else LAST,
    )
    return option(function)


def findings(function: F) -> F:
    """Add --findings, a file of findings that is read."""
    file = click.Path(exists=True, dir_okay=False, path_type=Path)
    option = named_option("--findings", type=file)
    return option(function)


def policy(function: F) -> F:
    """Add --super-user, --allow-everyone and --kafka of a run."""
    return _policy(function, is_run=True)


def last_policy(function: F) -> F:
    """Add the same; without them those of the last run count."""
    return _policy(function, is_run=False)


def _principals(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the principals of texts as super.users has them, with ; between.

    Empty parts are left out, as ``StandardAuthorizer.getConfiguredSuperUsers`` does.

    Raises:
        BadParameter: a text has no principal, or a part is none, so that no request could have it.

    """
    parts = [[part.strip() for part in value.split(";")] for value in values]
    found = [each for part in parts for each in (list(filter(None, part)) or [""])]
    for each in found:
        if not re.fullmatch(r"[^:\s]+:.+", each, re.DOTALL):
            raise click.BadParameter(f"found {each!r}; expected: Type:name, such as User:admin")
        remark = remark_on(each)
        if remark:
            say(f"--super-user: {remark}")
    return tuple(found)


def _policy(function: F, *, is_run: bool) -> F:
    last = None if is_run else LAST
    for option in (
        named_option(
            "--kafka",
            "release",
            type=click.Choice(list(RELEASES)),
            default="4.4" if is_run else None,
            show_default=is_run,
            default_text=last,
        ),
        named_option(
            "--allow-everyone", is_flag=True, default=False if is_run else None, default_text=last
        ),
        named_option(
            "--super-user", "super_users", multiple=True, callback=_principals, default_text=last
        ),
    ):
        function = option(function)
    return function
