"""The files of a world: logs as a broker leaves them, and sets of ACLs.

A log is written by whole columns: the moments are a matrix of bytes, the tails are taken from a
dictionary, both are joined by Arrow, and the buffer of the result is written to the file. Ten
million lines, 4.5 GB, take about as long as the disk.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import zstandard

from doorkeeper.acls.formats.choosing import Format, write
from synthetic.grants import proposal_of
from synthetic.lines import tails_of
from synthetic.traffic import events

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from synthetic.traffic import Events, World

BEGIN_MS = 1_793_491_200_000
"""1 November 2026, midnight UTC: the default begin of worlds."""

NAME = "kafka-authorizer.log"
_NOTHING = pa.scalar("", pa.large_string())
BAD_LINES = (
    b"\n",
    b"java.lang.IllegalStateException: something else was logged here\n",
    b"\tat kafka.server.KafkaApis.handle(KafkaApis.scala:180)\n",
    b"[2026-11-02 10:11:12,345] INFO Principal = User:torn is Denied operation = READ from ho\n",
    b"\xff\xfe not UTF-8 \xff\n",
)
"""Lines that are no decision; each of them is written in turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """Which log is written: its era, how many lines in how many files, over how many days.

    After every so many decisions comes one of ``BAD_LINES``; 0 for none. ``compressed`` is the
    suffix that all files but the newest get: "", ".gz" or ".zst".
    """

    era: str = "E"
    lines: int = 10_000
    files: int = 4
    days: int = 7
    begin_ms: int = BEGIN_MS
    bad_every: int = 0
    compressed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The result: the files from old to new, and how often each question stands in them."""

    paths: tuple[Path, ...]
    counts: npt.NDArray[np.int64]
    bad: int
    size_bytes: int


def write_log(world: World, folder: Path, log: Log) -> Written:
    """Write a log into a folder, rotated as a broker does: the newest file has the bare name.

    Raises:
        ValueError: no such era or compression.
        OSError: the folder cannot be written.

    """
    tails = pa.array(tails_of(world, log.era), pa.large_string())
    folder.mkdir(parents=True, exist_ok=True)
    counts = np.zeros(len(tails), dtype=np.int64)
    chunk = max(1, -(-log.lines // log.files))
    paths, bad, size = [], 0, 0
    # A file is a run of whole chunks; a chunk is small enough to stay in the cache of a machine.
    parts = max(1, chunk // 200_000)
    stream = events(
        world, log.lines, begin_ms=log.begin_ms, days=log.days, chunk=-(-chunk // parts)
    )
    for number in range(log.files):
        taken = [each for each in (next(stream, None) for _ in range(parts)) if each is not None]
        if not taken:
            break
        path = folder / _name(taken[0], number, log)
        with _open(path) as file:
            for each in taken:
                counts += np.bincount(each.rows, minlength=len(counts))
                bad += _write(file, tails, each, log.bad_every, bad)
        size += path.stat().st_size
        paths.append(path)
    return Written(paths=tuple(paths), counts=counts, bad=bad, size_bytes=size)


def write_acls(world: World, folder: Path) -> dict[str, Path]:
    """Write the world's set of ACLs in each format that has a writer, and a proposal beside it.

    The keys are the values of ``Format``, and ``proposal``, which is YAML.
    """
    folder.mkdir(parents=True, exist_ok=True)
    suffixes = {Format.YAML: "acls.yaml", Format.JSON: "acls.json", Format.KAFKA: "acls.txt"}
    suffixes |= {Format.CSV: "acls.csv", Format.CSV_KAFKA_UI: "acls-kafka-ui.csv"}
    paths = {}
    for how, name in suffixes.items():
        paths[how.value] = folder / name
        paths[how.value].write_text(write(world.bindings, how), encoding="utf-8", newline="")
    paths["proposal"] = folder / "proposal.yaml"
    proposal = proposal_of(world.bindings, world.shape.seed)
    paths["proposal"].write_text(write(proposal, Format.YAML), encoding="utf-8", newline="")
    return paths


def stamps(at_ms: npt.NDArray[np.int64]) -> pa.Array:
    """Return moments as ``[2026-11-01 00:00:00,000] ``, in UTC."""
    count = len(at_ms)
    text = np.empty((count, 26), dtype=np.uint8)
    text[:] = np.frombuffer(b"[0000-00-00 00:00:00,000] ", dtype=np.uint8)
    days, in_day = np.divmod(at_ms, 86_400_000)
    first, last = int(days.min()), int(days.max())
    table = np.arange(first, last + 1).astype("datetime64[D]").astype(str)
    dates = np.array([list(each.encode()) for each in table], dtype=np.uint8)
    text[:, 1:11] = dates[days - first]
    for column, per_unit, limit in ((12, 3_600_000, 24), (15, 60_000, 60), (18, 1_000, 60)):
        unit = in_day // per_unit % limit
        text[:, column] += (unit // 10).astype(np.uint8)
        text[:, column + 1] += (unit % 10).astype(np.uint8)
    thousandth = in_day % 1_000
    for column, per_unit in ((21, 100), (22, 10), (23, 1)):
        text[:, column] += (thousandth // per_unit % 10).astype(np.uint8)
    offsets = np.arange(count + 1, dtype=np.int64) * 26
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    return pa.Array.from_buffers(pa.large_string(), count, buffers)


def _write(file: BinaryIO, tails: pa.Array, part: Events, bad_every: int, bad: int) -> int:
    """Write a part of a log that has so many bad lines already; return how many are in it."""
    joined = pc.binary_join_element_wise(
        stamps(part.at_ms), tails.take(pa.array(part.rows)), _NOTHING
    )
    ends = np.frombuffer(joined.buffers()[1], dtype=np.int64)[1 : len(joined) + 1]
    data = memoryview(joined.buffers()[2])
    if not bad_every:
        file.write(data[: ends[-1]])
        return 0
    begin = 0
    cuts = ends[bad_every - 1 :: bad_every].tolist()
    for number, end in enumerate(cuts, bad):
        file.write(data[begin:end])
        file.write(BAD_LINES[number % len(BAD_LINES)])
        begin = end
    file.write(data[begin : ends[-1]])
    return len(cuts)


def _name(part: Events, number: int, log: Log) -> str:
    """Return the name that a broker's hourly roll gives; a number keeps names of one hour apart."""
    if number == log.files - 1:
        return NAME
    hour = str(part.at_ms[:1].astype("datetime64[ms]").astype("datetime64[h]")[0])
    return f"{NAME}.{hour.replace('T', '-')}.{number:03d}{log.compressed}"


def _open(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        return cast("BinaryIO", gzip.open(path, "wb", compresslevel=1))
    if path.suffix == ".zst":
        return cast("BinaryIO", zstandard.open(path, "wb"))
    return path.open("wb")
