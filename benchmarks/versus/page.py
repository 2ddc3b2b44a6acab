"""The page of results: the machine, the goals, and every number."""

from __future__ import annotations

import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from versus.goals import judged
from versus.table import KAFKA, KAFKA_EAGER, OURS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from versus.table import Row, Table

ROOT = Path(__file__).parents[2]
LIMITS = ROOT / "benchmarks" / "LIMITS.md"
MET, NOT_MET = "met", "**not met**"
BUSY = 1.0
"""From this load average on, others have used the machine during the run."""


def page(table: Table, *, command: str, loads: Sequence[float], kafka: str, took_s: float) -> str:
    """Return the whole text of RESULTS.md."""
    goals = judged(table)
    met = sum(1 for each in goals if each.met)
    lines = [
        "# What was measured",
        "",
        f"Written by `{command}`. {OURS} and a Kafka broker answer the same frames of the",
        "same load generator in turn, in one run; each number is the median of its rounds, and a",
        "ratio says how many times better ours is. `benchmarks/README.md` says what the rows are.",
        "",
        *_circumstances(loads, kafka, took_s),
        "",
        f"## Goals: {met} of {len(goals)} met",
        "",
        "| goal | at least / at most | measured | |",
        "|---|---|---|---|",
        *(
            f"| {each.text} | {each.least} | {each.found} | {MET if each.met else NOT_MET} |"
            for each in goals
        ),
        "",
        *([LIMITS.read_text().rstrip(), ""] if LIMITS.exists() else []),
        "## All numbers",
        "",
        f"| what | how | ACLs | unit | {OURS} | {KAFKA} | ratio | {KAFKA_EAGER} |",
        "|---|---|---|---|---|---|---|---|",
        *map(_line, table.rows.values()),
        "",
    ]
    return "\n".join(lines)


def _circumstances(loads: Sequence[float], kafka: str, took_s: float) -> list[str]:
    before, after = loads
    today = time.strftime("%-d %B %Y", time.gmtime())
    found = [
        f"- {today}, commit {_commit()}, {took_s / 60:.1f} minutes",
        f"- {_processor()}, Linux {platform.release().partition('-')[0]}",
        f"- Python {platform.python_version()}, {_versions()}",
        f"- {kafka}",
        f"- load average before {before:.2f}, behind {after:.2f} (the run itself makes about 2)",
    ]
    if before >= BUSY:
        found.append(
            "- **Others used the machine as the run began**: times are too long, ratios may be off."
        )
    return found


def _versions() -> str:
    libraries = ", ".join(f"{name} {version(name)}" for name in ("uvloop", "immutables"))
    return f"{libraries}, SQLite {apsw.sqlite_lib_version()}"


def _commit() -> str:
    words = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _processor() -> str:
    info = Path("/proc/cpuinfo").read_text()
    names = [line.partition(": ")[2] for line in info.splitlines() if line.startswith("model name")]
    kb = int(Path("/proc/meminfo").read_text().split()[1])
    return f"{names[0] if names else platform.machine()}, {len(names)} cores, {kb / 2**20:.0f} GiB"


def java_version() -> str:
    """Return what runs the broker."""
    done = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False)
    return done.stderr.splitlines()[0] if done.stderr else "no Java"


def _line(row: Row) -> str:
    cells = [row.name, row.how, f"{row.acls:,}" if row.acls else "", row.unit]
    cells += [number(row.of(side)) for side in (OURS, KAFKA)]
    ratio = row.ratio(KAFKA)
    cells += ["" if ratio is None else f"{number(ratio)}x", number(row.of(KAFKA_EAGER))]
    return f"| {' | '.join(cells)} |"


def number(value: float | None) -> str:
    """Return a number with the digits that mean something; nothing for None."""
    if value is None:
        return ""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def progress(text: str) -> None:
    """Tell who waits what is measured."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)
