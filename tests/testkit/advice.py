"""What the pipeline advises about a labelled cluster, and what is wrong with it.

The whole way is gone: files are read, tables made, proposals of each kind asked for. They are
judged by ``synthetic.scoring``, which knows the truth and nothing of the product's engine.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from doorkeeper.acls.decision import Policy
from doorkeeper_pipeline.bindings import text_of
from doorkeeper_pipeline.cli.propose import KINDS
from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.errors import PipelineError
from doorkeeper_pipeline.evaluation.literals import bindings_of
from doorkeeper_pipeline.jobs.agreement import evidence
from doorkeeper_pipeline.jobs.history import history, logs_of
from doorkeeper_pipeline.jobs.propose import ProposalOptions, propose
from doorkeeper_pipeline.jobs.request import RunRequest, Surroundings
from doorkeeper_pipeline.jobs.run import run
from doorkeeper_pipeline.tables import delta
from synthetic.collecting import collect
from synthetic.labelled import GOING, Label
from synthetic.quarter import quarter_of
from synthetic.scoring import Score, score
from synthetic.uses import cluster_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper_pipeline.jobs.gold import GoldInput
    from synthetic.collecting import Collected
    from synthetic.labelled import Cluster

WIDER = "--allow-wider"
SHOWN = 3


class Advice(NamedTuple):
    """The advice about a cluster: a line for each fault, and the score of ``--method unused``.

    Where the evidence is not enough for a proposal it is that of the present ACLs.
    """

    seed: int
    wrong: tuple[str, ...]
    unused_score: Score


def advice_on(seed: int) -> Advice:
    """Return the advice about the cluster of a seed."""
    cluster = cluster_of(quarter_of(seed))
    with TemporaryDirectory() as name:
        out = Path(name, "out")
        _run(cluster, collect(cluster, Path(name)), out)
        wrong = list(_wrong_verdicts(cluster, out))
        asked = _asked(cluster, out)
        scores = {}
        for options in _options(cluster) if asked is not None else ():
            assert asked is not None
            try:
                proposed = propose(asked, options).bindings
            except PipelineError as error:
                # To refuse a prefix is right; nothing else may be wider.
                if not options.prefixes or WIDER not in str(error):
                    wrong.append(f"{options.kinds}: {error}")
                continue
            scores[options.kinds] = score(cluster, proposed)
            wrong += _wrong_proposal(options, scores[options.kinds])
    if ("unused",) not in scores:
        scores["unused",] = score(cluster, [each.binding for each in cluster.present()])
    where = f"seed {seed} ({cluster.quarter.fault or 'sound'})"
    return Advice(seed, tuple(f"{where}: {each}" for each in wrong), scores["unused",])


def _run(cluster: Cluster, collected: Collected, out: Path) -> None:
    request = RunRequest(
        out=out,
        inputs=tuple(map(str, collected.logs)),
        acls=collected.acls,
        policy=Policy(super_users=collected.super_users, allow_everyone=collected.allow_everyone),
        # The made-up brokers match networks, as 4.4 does.
        networks=True,
    )
    around = Surroundings(
        engine=Engine(),
        now=lambda: _now(cluster),
        run_id="run",
        version="1",
        tell=lambda _: None,
    )
    run(request, around)


def _now(cluster: Cluster) -> dt.datetime:
    return cluster.end + dt.timedelta(hours=1)


def _asked(cluster: Cluster, out: Path) -> GoldInput | None:
    """Return the input of ``propose``; None where the evidence is not enough."""
    asked = history(out, Engine())
    proof = evidence(asked, asked.thresholds, _now(cluster), logs_of(out))
    return None if proof.lacking else replace(asked, proof=proof)


def _options(cluster: Cluster) -> Iterator[ProposalOptions]:
    """Yield the proposals that are asked for: each kind, together, by prefixes, for one alone."""
    for kind in KINDS:
        yield ProposalOptions(kinds=(kind,))
    yield ProposalOptions(kinds=KINDS)
    yield ProposalOptions(kinds=("least-privilege", "unused"), prefixes=True)
    principals = sorted({each.question.principal for each in cluster.requests})
    chosen = principals[cluster.quarter.seed % len(principals)]
    yield ProposalOptions(kinds=("least-privilege", "unused"), principals=(chosen,))


def _wrong_verdicts(cluster: Cluster, out: Path) -> Iterator[str]:
    """Yield the grants whose verdict is to remove them, and that must stay."""
    labels = {each.binding: each for each in cluster.present()}
    going = delta.Tables(out).read("grant_usage").filter(pl.col("verdict") == "REMOVE")
    for binding, why in zip(bindings_of(going), going["why"], strict=True):
        grant = labels[binding]
        if grant.label not in GOING:
            yield f"REMOVE, though {grant.label.value} ({grant.use}): {text_of(binding)}: {why}"
        is_super = binding.entry.principal in cluster.policy.super_users
        if is_super and "only while the principal is in super.users" not in why:
            yield f"REMOVE without its condition: {text_of(binding)}: {why}"


def _wrong_proposal(options: ProposalOptions, scored: Score) -> Iterator[str]:
    what = f"{'+'.join(options.kinds)}{' --prefixes' * options.prefixes}"
    for grant in scored.forbidden:
        # What is needed may be replaced by less; whether it is enough, lost requests say.
        if options.kinds == ("unused",) or grant.label is Label.UNKNOWABLE:
            yield f"{what} removes {grant.label.value} ({grant.use}): {text_of(grant.binding)}"
    for name, questions in (("refuses", scored.lost), ("opens", scored.opened)):
        if questions:
            yield f"{what} {name} {len(questions)} requests: {questions[:SHOWN]}"
