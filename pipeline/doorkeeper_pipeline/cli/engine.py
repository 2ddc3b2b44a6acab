"""The engine of a command: its options, and its start with the progress that it tells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, NamedTuple

import click

from doorkeeper.base.garbage_collection import collection_paused
from doorkeeper.cli.vocabulary.options import named_option, with_options
from doorkeeper.cli.vocabulary.progress import Progress, progress
from doorkeeper_pipeline.cli.options import setting
from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.engines.session import LOCAL_MASTER


class ChosenEngine(NamedTuple):
    """The engine that was asked for: Spark if it or a master is named, else the local one."""

    name: str | None
    master: str | None
    settings: dict[str, str]
    quiet: bool

    @property
    def is_spark(self) -> bool:
        return self.name == "spark" or self.master is not None

    @contextmanager
    def started(self) -> Iterator[tuple[Progress, Engine]]:
        """Start the engine, and end it; what it does is told.

        Raises:
            PipelineError: Java or PySpark is not there.
            UsageError: a master, or a setting of Spark, is given for the local engine.

        """
        # Jobs make very many bindings, none of them in a cycle: collections would take a tenth of
        # the processor time.
        with progress("starting", quiet=self.quiet) as shown, collection_paused():
            engine = self._engine(shown.tell)
            try:
                yield shown, engine
            finally:
                engine.close()

    def _engine(self, tell: Callable[[str], None]) -> Engine:
        if self.name == "local" and self.master is not None:
            raise click.UsageError(f"--master {self.master} requires --engine spark")
        if self.is_spark:
            from doorkeeper_pipeline.engines.spark import SparkEngine

            return SparkEngine(self.master or LOCAL_MASTER, self.settings, tell=tell)
        if self.settings:
            raise click.UsageError("--conf and --packages require --engine spark")
        return Engine()


def engine_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --engine, --master, --conf, --packages and --quiet: the argument ``chosen``."""

    @wraps(function)
    def command(
        *,
        engine_name: str | None,
        master: str | None,
        conf: tuple[tuple[str, str], ...],
        packages: tuple[str, ...],
        quiet: bool,
        **others: Any,
    ) -> None:
        settings = {"spark.jars.packages": ",".join(packages)} if packages else {}
        settings.update(conf)
        function(chosen=ChosenEngine(engine_name, master, settings, quiet), **others)

    return with_options(
        named_option(
            "--engine",
            "engine_name",
            type=click.Choice(["spark", "local"]),
            default_text="local; spark with --master",
        ),
        named_option("--master", default_text="local[*]"),
        named_option("--quiet", "-q", is_flag=True),
        named_option("--conf", multiple=True, type=setting),
        named_option("--packages", multiple=True),
    )(command)
