"""The evaluator's jobs on Spark give the same tables as in one process."""

import gc
from collections.abc import Iterator

import pytest

from doorkeeper.acls.model import AclOperation
from doorkeeper_pipeline.cli.propose import KINDS
from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.engines.spark import SparkEngine
from doorkeeper_pipeline.evaluation.evidence import NO_THRESHOLDS
from doorkeeper_pipeline.jobs.backtest import backtest
from doorkeeper_pipeline.jobs.gold import GoldInput
from doorkeeper_pipeline.jobs.propose import Proposal, ProposalOptions, propose
from synthetic.grants import proposal_of
from synthetic.shape import SMALL
from synthetic.tables import decisions_of
from synthetic.traffic import World, world_of
from testkit.acl import allow, topic
from testkit.acl_tables import bindings_table

# PySpark leaves sockets to the garbage collector, which warns of them in some later test.
pytestmark = [
    pytest.mark.interop,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("default"),
]

EVENTS = 20_000
FILES = 4


@pytest.fixture(scope="module")
def world() -> World:
    return world_of(SMALL)


@pytest.fixture(scope="module")
def files(world: World, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    folder = tmp_path_factory.mktemp("decisions")
    table = decisions_of(world, EVENTS)
    size = -(-len(table) // FILES)
    for number in range(FILES):
        part = table.slice(number * size, size)
        part.write_parquet(folder / f"{number}.parquet")
    return tuple(str(folder / f"{number}.parquet") for number in range(FILES))


@pytest.fixture(scope="module")
def spark() -> Iterator[Engine]:
    engine = SparkEngine("local[2]")
    yield engine
    engine.close()
    gc.collect()  # PySpark's sockets, of which it warns here and in no other test


def asked(world: World, files: tuple[str, ...], engine: Engine) -> GoldInput:
    return GoldInput(
        engine=engine,
        decisions=files,
        bindings=bindings_table(world.bindings),
        policy=world.policy,
        thresholds=NO_THRESHOLDS,
    )


def test_backtest(world: World, files: tuple[str, ...], spark: Engine) -> None:
    """The backtest of another set is the same, turns both ways, and agrees with what was logged."""
    everything = allow(world.names.principals[0], AclOperation.ALL, topic("*"))
    proposed = [*proposal_of(world.bindings), everything]

    local = backtest(asked(world, files, Engine()), proposed)
    distributed = backtest(asked(world, files, spark), proposed)

    assert distributed.equals(local)
    assert set(local["turn"].to_list()) == {"ALLOW_TO_DENY", "DENY_TO_ALLOW"}
    recorded = asked(world, files, spark)
    unknown = GoldInput(
        engine=recorded.engine,
        decisions=files,
        bindings=bindings_table([]),
        policy=world.policy,
    )
    assert backtest(unknown, world.bindings).is_empty()


def test_proposals(world: World, files: tuple[str, ...], spark: Engine) -> None:
    """A proposal of every kind, with prefixes, is the same; its backtest too."""
    options = ProposalOptions(prefixes=True, wider=True, kinds=KINDS)

    def made(engine: Engine) -> Proposal:
        return propose(asked(world, files, engine), options)

    local, distributed = made(Engine()), made(spark)

    assert (distributed.bindings, distributed.removed) == (local.bindings, local.removed)
    assert local.removed
    assert distributed.least_privilege.equals(local.least_privilege)
    assert distributed.backtest.equals(local.backtest)
