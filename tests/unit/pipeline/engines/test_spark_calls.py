"""What the engine asks of Spark is what its oldest release has; the tables need Spark itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pytest

from doorkeeper_pipeline.engines import spark
from doorkeeper_pipeline.engines.spark import SparkEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Frame(NamedTuple):
    """A DataFrame of Spark 3.5: it has no toArrow."""

    batches: tuple[pa.RecordBatch, ...]

    def mapInArrow(  # noqa: N802  Spark's name
        self, function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], schema: str
    ) -> Frame:
        return Frame(tuple(function(iter(self.batches))))

    def collect(self) -> list[tuple[Any, ...]]:
        columns = pa.Table.from_batches(self.batches).columns
        return list(zip(*(each.to_pylist() for each in columns), strict=True))


class Context:
    """The context of a session that is not of Spark Connect."""

    def __init__(self, sent: list[str]) -> None:
        self._sent = sent

    def addPyFile(self, path: str) -> None:  # noqa: N802  Spark's name
        self._sent.append(path)

    def setJobDescription(self, text: str) -> None:  # noqa: N802  Spark's name
        assert text == "builtins.divmod"


class Session:
    """A session of Spark 3.5: of Spark Connect, which has addArtifacts, or not."""

    def __init__(self, sent: list[str], *, connect: bool) -> None:
        if connect:
            self.addArtifacts = lambda path, pyfile: sent.append(path)
        else:
            self.sparkContext = Context(sent)

    def range(self, start: int, end: int, step: int, partitions: int) -> Frame:
        numbers = pa.array(list(range(start, end, step)), pa.int64())
        return Frame(tuple(pa.record_batch([each], ["id"]) for each in (numbers[:1], numbers[1:])))

    def stop(self) -> None:
        """End nothing."""


@pytest.mark.parametrize("master", ["local[2]", "spark://master:7077", "sc://host:15002"])
def test_session_of_oldest_release_is_enough(master: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    session = Session(sent, connect=master.startswith("sc:"))
    monkeypatch.setattr(spark, "start", lambda *_: session)
    engine = SparkEngine(master)

    assert list(engine.map(divmod, [2, 3, 4], 9)) == [(4, 1), (3, 0), (2, 1)]
    assert len(sent) == (not master.startswith("local"))
    engine.close()
