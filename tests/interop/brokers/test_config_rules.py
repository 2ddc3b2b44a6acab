"""``config check --broker`` says "error" where a real node does not start, and nowhere else."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest
from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from testkit.broken_configurations import valid, variants, write_stores
from testkit.broker_starts import Starts
from testkit.kafka_jars import VERSIONS, jars
from testkit.or_skip import or_skip

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from testkit.broken_configurations import Variant

SEED = 7
SAMPLE, ALL = 5, 100
FOUND_MIN = 0.95
"""Of the configurations that a node refuses, how many the check must call an error."""


class Verdict(NamedTuple):
    """What a node did with a configuration, and what the check said of it."""

    name: str
    starts: bool
    is_error: bool
    reason: str
    output: str


def judged(folder: Path, chosen: Sequence[Variant], starts: Starts) -> list[Verdict]:
    """Start a node with each configuration, and check it."""
    verdicts = []
    for number, variant in enumerate(chosen):
        file = folder / "server.properties"
        file.write_text(starts.text_of(variant))
        options = ["--no-jaas-file"]
        if variant.jaas:
            (folder / "jaas.conf").write_text(variant.jaas)
            options = ["--jaas-file", str(folder / "jaas.conf")]
        command = ["config", "check", "--broker", str(file), *options]
        checked = CliRunner().invoke(doorkeeper, command)
        assert checked.exit_code in (0, 1), checked.output
        answer = starts.start(variant, number)
        verdicts.append(
            Verdict(
                variant.name, answer.starts, checked.exit_code == 1, answer.reason, checked.output
            )
        )
    return verdicts


def check(folder: Path, count: int) -> str:
    """Judge the valid configurations and so many broken ones; return the numbers."""
    release = or_skip(lambda: jars(VERSIONS[0]))
    write_stores(folder)
    starts = Starts(release, folder)
    right = valid(folder) if count == ALL else valid(folder)[:2]
    verdicts = judged(folder, [*right, *variants(folder, count, SEED)], starts)

    assert [each for each in verdicts[: len(right)] if not each.starts or each.is_error] == []
    assert [each for each in verdicts if each.starts and each.is_error] == []
    refused = [each for each in verdicts if not each.starts]
    missed = [each for each in refused if not each.is_error]
    assert len(missed) <= (1 - FOUND_MIN) * len(refused) + (count == SAMPLE), missed
    return f"{len(refused) - len(missed)} of {len(refused)} refused configurations are errors"


def test_some_broken_configurations(tmp_path: Path) -> None:
    """Valid ones and a handful with a fault; all of them are in the long suite."""
    check(tmp_path, SAMPLE)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_broken_configurations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of 100 with a fault, those that a node refuses are errors, but for one in twenty."""
    numbers = check(tmp_path, ALL)

    with capsys.disabled():
        sys.stdout.write(f"\n{numbers}\n")
