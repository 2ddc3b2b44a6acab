"""``doorkeeper-pipeline stream``: decisions, refusals and new access within a minute."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from doorkeeper_pipeline.cli import options, starting
from doorkeeper_pipeline.cli.failures import HELP, STATUSES
from doorkeeper_pipeline.cli.progress import Progress
from doorkeeper_pipeline.engines.session import CONNECT, Settings
from doorkeeper_pipeline.topics.addresses import parse_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from doorkeeper_pipeline.engines.contract import Engine


@click.command("stream", epilog=STATUSES, context_settings=HELP)
@click.option(
    "--audit",
    required=True,
    type=options.StreamPlace(exists=True, file_okay=False, path_type=Path),
    help="The folder of Doorkeeper's audit log, doorkeeper.audit.dir; or a topic,"
    " kafka://HOST:PORT/TOPIC.",
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
    help="Seconds from one look at the folder or topic to the next.",
)
@click.option("--once", is_flag=True, help="Read what is there, and end.")
@options.source
@options.zone
@options.command_config
@click.option(
    "--cluster",
    default="",
    metavar="ID",
    help="Keep only events of this cluster, of a topic that holds several, such as Confluent's.",
)
@options.last_policy
@options.engine
def command(
    *,
    audit: Path | str,
    out: Path,
    interval: float,
    once: bool,
    source: str | None,
    zone: str,
    command_config: Path | None,
    cluster: str,
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

    Or follow a topic: read each record once. Killed at any moment and started again, it loses
    nothing and counts nothing twice.

    \b
    Examples:
      doorkeeper-pipeline stream --audit data/audit --out access
      doorkeeper-pipeline stream --audit data/audit --out access --interval 5
      doorkeeper-pipeline stream --audit kafka://b:9092/audit --out access
    """
    options.check_config((str(audit),), command_config)
    if isinstance(audit, Path) and (source or cluster):
        raise click.UsageError("--source and --cluster are for topics: kafka://HOST:PORT/TOPIC")
    if master is not None and master.startswith(CONNECT):
        # Not repeated: such an address may have a token.
        raise click.UsageError(
            "--master: found an address of Spark Connect (sc://). A stream holds a lock in the JVM"
            " of its driver: it needs a master of Spark's, such as local[*], or --engine local"
        )
    given = starting.run_options(
        out, super_users, allow_everyone=allow_everyone, release=release, cluster=cluster
    )
    shared = {
        "out": out,
        "interval_s": interval,
        "once": once,
        "policy": given.policy,
        "networks": given.networks,
    }
    of_topic = {
        "config": str(command_config.absolute()) if command_config else "",
        "source": source,
        "zone": zone,
        "cluster": cluster,
    }
    tell = Progress(time.monotonic, quiet=quiet)
    settings = Settings(conf=conf, packages=packages)
    with (
        waiting() as wait,
        starting.engine(engine_name, master, tell, settings) as engine,
    ):
        if isinstance(audit, Path):
            _follow_folder(audit, shared, engine, tell, wait)
        else:
            _follow_topic(audit, {**shared, **of_topic}, engine, tell, wait)


def _follow_folder(
    folder: Path,
    values: dict[str, Any],
    engine: Engine,
    tell: Callable[[str], None],
    wait: Callable[[float], bool],
) -> None:
    from doorkeeper_pipeline.streaming.following import (
        StreamRequest,
        follow,
    )

    request = StreamRequest(trail=folder, **values)
    if engine.name == "local":
        follow(request, engine, tell, wait)
        return
    from doorkeeper_pipeline.engines.spark import SparkEngine
    from doorkeeper_pipeline.streaming.structured import stream

    assert isinstance(engine, SparkEngine)
    stream(request, engine, tell, wait)


def _follow_topic(
    address: str,
    values: dict[str, Any],
    engine: Engine,
    tell: Callable[[str], None],
    wait: Callable[[float], bool],
) -> None:
    from doorkeeper_pipeline.streaming.topics import (
        TopicStreamRequest,
        follow_topic,
        stream_topic,
    )

    request = TopicStreamRequest(address=parse_topic(address), **values)
    if engine.name == "local":
        follow_topic(request, engine, tell, wait)
        return
    from doorkeeper_pipeline.engines.spark import SparkEngine

    assert isinstance(engine, SparkEngine)
    stream_topic(request, engine, tell, wait)


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
