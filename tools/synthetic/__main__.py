"""Make a labelled cluster, or score the set of ACLs that a tool proposes for it.

    PYTHONPATH=tools:tests python -m synthetic make 7 FOLDER
    PYTHONPATH=tools:tests python -m synthetic score FOLDER PROPOSAL

``make`` writes the logs and listings of seed 7, the truth about each grant, and a script that runs
our pipeline on them. ``score`` takes the whole set of ACLs that is proposed, in any format that
``doorkeeper acls`` reads; its status is 1 where the proposal does harm.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path

from doorkeeper.acls.formats import choosing
from synthetic.collecting import Collected, collect
from synthetic.quarter import quarter_of
from synthetic.scoring import score
from synthetic.uses import cluster_of

_ABOUT = "cluster.json"


def main() -> int:
    """Do what the arguments say; return the status."""
    parser = argparse.ArgumentParser(
        prog="synthetic", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, dest="command")
    making = commands.add_parser("make", help="write the files of a seed")
    making.add_argument("seed", type=int)
    making.add_argument("folder", type=Path)
    scoring = commands.add_parser("score", help="score a proposed set of ACLs")
    scoring.add_argument("folder", type=Path)
    scoring.add_argument("proposal", type=Path)
    given = parser.parse_args()
    if given.command == "make":
        return _make(given.seed, given.folder)
    return _score(given.folder, given.proposal)


def _make(seed: int, folder: Path) -> int:
    cluster = cluster_of(quarter_of(seed))
    folder.mkdir(parents=True, exist_ok=True)
    collected = collect(cluster, folder)
    (folder / _ABOUT).write_text(json.dumps({"seed": seed}) + "\n")
    script = folder / "run.sh"
    script.write_text(f'#!/bin/sh\n{_command(collected)} "$@"\n')
    script.chmod(0o755)
    quarter = cluster.quarter
    print(
        f"{len(cluster.present())} grants, {quarter.days} days, {len(collected.logs)} logs of"
        f" {quarter.brokers} brokers, {len(collected.acls)} listings"
    )
    print(f"collection: {quarter.fault or 'sound'}")
    return 0


def _command(collected: Collected) -> str:
    words = ["doorkeeper-pipeline", "run"]
    for path in collected.logs:
        words += ["--log", str(path)]
    for place in collected.acls:
        words += ["--acls", place]
    for principal in sorted(collected.super_users):
        words += ["--super-user", principal]
    if collected.allow_everyone:
        words.append("--allow-everyone")
    return shlex.join(words)


def _score(folder: Path, proposal: Path) -> int:
    cluster = cluster_of(quarter_of(json.loads((folder / _ABOUT).read_text())["seed"]))
    text = proposal.read_text(encoding="utf-8")
    found = score(cluster, choosing.read(text, name=proposal.name))
    print("\n".join(found.lines()))
    return int(found.does_harm)


if __name__ == "__main__":
    sys.exit(main())
