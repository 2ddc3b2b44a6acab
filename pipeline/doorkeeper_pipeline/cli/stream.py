"""``doorkeeper-pipeline stream``: decisions, refusals and new access within a minute."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from doorkeeper_pipeline.cli import options, starting
from doorkeeper_pipeline.cli.failures import HELP, STATUSES
from doorkeeper_pipeline.cli.progress import Progress
from doorkeeper_pipeline.engines.session import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@click.command("stream", epilog=STATUSES, context_settings=HELP)
@click.option(
    "--audit",
    required=True,
    type=options.LocalPath(exists=True, file_okay=False, path_type=Path),
    help="The folder of Doorkeeper's audit log: doorkeeper.audit.dir.",
)
@click.option(
    "--out",
    required=True,
    type=options.LocalPath(file_okay=False, path_type=Path),
    help="The folder of the tables; the stream has its own folder in it.",
)
@click.option(
    "--interval",
    type=click.FloatRange(min=0.1),
    default=10.0,
    show_default=True,
    help="Seconds from one look at the folder to the next.",
)
@click.option("--once", is_flag=True, help="Read what is there, and end.")
@options.last_policy
@options.engine
def command(  # noqa: PLR0913  one for each option
    *,
    audit: Path,
    out: Path,
    interval: float,
    once: bool,
    super_users: tuple[str, ...],
    allow_everyone: bool | None,
    release: str | None,
    engine_name: str | None,
    master: str | None,
    conf: tuple[tuple[str, str], ...],
    packages: tuple[str, ...],
    quiet: bool,
) -> None:
    """Follow the audit log: read each file once, as soon as the server has finished it.

    Killed at any moment and started again, it loses nothing and counts nothing twice.

    \b
    Examples:
      doorkeeper-pipeline stream --audit data/audit --out access
      doorkeeper-pipeline stream --audit data/audit --out access --interval 5
    """  # noqa: D301  \b is Click's mark of a paragraph that is not wrapped
    from doorkeeper_pipeline.streaming.following import (  # noqa: PLC0415  heavy
        StreamRequest,
        follow,
    )

    tell = Progress(time.monotonic, quiet=quiet)
    given = starting.run_options(out, super_users, allow_everyone=allow_everyone, release=release)
    request = StreamRequest(
        trail=audit,
        out=out,
        interval_s=interval,
        once=once,
        policy=given.policy,
        networks=given.networks,
    )
    with (
        waiting() as wait,
        starting.engine(
            engine_name, master, tell, Settings(conf=conf, packages=packages)
        ) as engine,
    ):
        if engine.name == "local":
            follow(request, engine, tell, wait)
            return
        from doorkeeper_pipeline.engines.spark import SparkEngine  # noqa: PLC0415  heavy
        from doorkeeper_pipeline.streaming.structured import stream  # noqa: PLC0415  heavy

        assert isinstance(engine, SparkEngine)
        stream(request, engine, tell, wait)


@contextmanager
def waiting() -> Iterator[Callable[[float], bool]]:
    """Give a function that sleeps, and says no more once the process was told to end."""
    ending = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: ending.set())
    try:
        yield lambda seconds: not ending.wait(seconds)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
