"""The options of a run that stay with its tables: other commands use them where given none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from doorkeeper.acls.decision import Policy
from doorkeeper_pipeline.evaluation.evidence import DEFAULT_THRESHOLDS, Thresholds


class RunOptions(NamedTuple):
    """How the cluster decides, and the evidence that a recommendation needs.

    ``networks``: whether hosts of ACLs may be networks, as in Kafka 4.4. ``sensitive``: the
    beginnings of the names of topics that are sensitive. ``excluded``: principals that shares and
    findings leave out.
    """

    policy: Policy = Policy()
    networks: bool = True
    thresholds: Thresholds = DEFAULT_THRESHOLDS
    sensitive: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    def values(self) -> dict[str, Any]:
        """Return the options as JSON has them."""
        return {
            "allow_everyone": self.policy.allow_everyone,
            "super_users": sorted(self.policy.super_users),
            "networks": self.networks,
            "thresholds": self.thresholds._asdict(),
            "sensitive": sorted(self.sensitive),
            "excluded": sorted(self.excluded),
        }


def last_options(out: Path | str, cluster: str = "") -> RunOptions:
    """Return the options of the last run into a folder; the defaults where there was none.

    ``cluster`` is empty for the only one.

    Raises:
        Conflicting: there are several clusters, and none of them is given.

    """
    from doorkeeper_pipeline.jobs.belonging import cluster_in
    from doorkeeper_pipeline.tables.delta import Tables

    tables = Tables(out)
    runs = cluster_in(tables, cluster).own(tables.read("runs"))
    texts = runs["asked"].drop_nulls().to_list()
    if not texts:
        return RunOptions()
    found = json.loads(texts[-1])
    return RunOptions(
        Policy(super_users=frozenset(found["super_users"]), allow_everyone=found["allow_everyone"]),
        found["networks"],
        # Runs of an earlier release did not keep them.
        Thresholds(**found.get("thresholds", {})),
        tuple(found.get("sensitive", ())),
        tuple(found.get("excluded", ())),
    )
