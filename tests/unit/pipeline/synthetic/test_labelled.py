"""Labelled clusters: their labels are true, and scores find what is wrong with a proposal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.model import AclPermissionType, PatternType
from synthetic.collecting import collect
from synthetic.deciding import Acls
from synthetic.labelled import GOING, Label
from synthetic.quarter import Quarter, quarter_of
from synthetic.scoring import score
from synthetic.uses import cluster_of

if TYPE_CHECKING:
    from pathlib import Path

    from synthetic.labelled import Cluster, Grant

SEEDS = (*range(1, 4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 13)))


@pytest.mark.parametrize("seed", SEEDS)
def test_labels_are_correct(seed: int) -> None:
    cluster = cluster_of(quarter_of(seed))
    staying = [each for each in cluster.present() if each.label not in GOING]

    without = score(cluster, [each.binding for each in staying])

    assert without.lost == ()
    assert without.forbidden == ()
    # The last ACL of a resource shuts it to all others, where that is the cluster's policy.
    assert cluster.policy.allow_everyone or without.opened == ()
    needed = [each for each in staying if each.label is Label.NEEDED and is_allow(each)]
    assert [each for each in needed if not is_used(cluster, each)] == []


def is_allow(grant: Grant) -> bool:
    return grant.binding.entry.permission_type is AclPermissionType.ALLOW


def is_used(cluster: Cluster, grant: Grant) -> bool:
    alone = Acls([grant.binding], Policy())
    return any(alone.allows(each.question) for each in cluster.requests)


def test_score_detects_wrong_proposals() -> None:
    cluster = cluster_of(Quarter(seed=1))
    present = [each.binding for each in cluster.present()]
    assert not score(cluster, present).does_harm

    [gone, *_] = [each for each in cluster.present() if each.use == "per quarter"]
    without = score(cluster, [each for each in present if each != gone.binding])
    wider = gone.binding.pattern._replace(pattern_type=PatternType.PREFIXED)
    opened = score(cluster, [*present, gone.binding._replace(pattern=wider)])

    assert without.forbidden == (gone,)
    assert {each.principal for each in without.lost} == {gone.binding.entry.principal}
    assert without.does_harm
    assert {each.name.startswith(wider.name) for each in opened.opened} == {True}
    assert any("must stay (per quarter): " in line for line in without.lines())


def test_seed_determines_the_files(tmp_path: Path) -> None:
    short = quarter_of(19)
    assert (short.days, short.brokers) == (25, 1)
    for name, seed in (("a", 19), ("b", 19), ("c", 20)):
        collect(cluster_of(replace(short, seed=seed)), tmp_path / name)

    first, again, other = (
        {
            str(each.relative_to(tmp_path / name)): each.read_bytes()
            for each in files(tmp_path / name)
        }
        for name in "abc"
    )

    assert first == again != other
    assert "truth.csv" in first


def files(folder: Path) -> list[Path]:
    return [each for each in folder.rglob("*") if each.is_file()]
