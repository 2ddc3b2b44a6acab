"""Proposals, as a command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from doorkeeper.acl.formats import choosing
from doorkeeper_pipeline.cli.commands import pipeline
from doorkeeper_pipeline.cli.propose import write_set
from doorkeeper_pipeline.errors import PipelineError
from doorkeeper_pipeline.jobs.gold import Proposal
from doorkeeper_pipeline.tables import contents

if TYPE_CHECKING:
    from click.testing import Result

LINE = (
    "[2026-11-22 07:10:00,000] DEBUG Principal = User:a is Allowed Operation = Read from host = h"
    " on resource = Topic:LITERAL:t1 (kafka.authorizer.logger)\n"
)
ACLS = """version: 1
acls:
- {resourceType: TOPIC, name: t, patternType: PREFIXED, principal: 'User:a', operation: READ}
- {resourceType: TOPIC, name: old, principal: 'User:a', operation: WRITE}
"""


def called(*arguments: object) -> Result:
    """Call a command without a JVM."""
    name, *options = map(str, arguments)
    return CliRunner().invoke(pipeline, [name, "--engine", "local", "--quiet", *options])


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Return the tables of a history in which one of two grants was used."""
    (tmp_path / "a.log").write_text(LINE * 3)
    (tmp_path / "acls.yaml").write_text(ACLS)
    made = called(
        *("run", "--audit", tmp_path / "a.log", "--acls", tmp_path / "acls.yaml"),
        *("--out", tmp_path / "out"),
    )
    assert made.exit_code == 0, made.output
    return tmp_path / "out"


def test_a_script_on_stdout(out: Path) -> None:
    """Without files the changes are printed as commands."""
    done = called("propose", "--out", out, "--kind", "unused")

    assert done.exit_code == 0, done.output
    assert "kafka-acls.sh" in done.stdout
    assert "--remove" in done.stdout
    assert contents.read(out, "backtest").is_empty()


def test_files(out: Path, tmp_path: Path) -> None:
    """The set and the script are files; the summary says what would turn; the set can be read."""
    target, script = tmp_path / "new.yaml", tmp_path / "new.sh"

    done = called("propose", "--out", out, "--to", target, "--script", script)

    assert done.exit_code == 0, done.output
    assert "newly forbids 0 decisions" in done.stdout
    assert len(choosing.read(target.read_text(), name=target.name)) == 1
    assert "kafka-acls.sh" in script.read_text()
    assert len(contents.read(out, "least_privilege")) == 1


def test_a_name_that_no_format_has(tmp_path: Path) -> None:
    """The suffix says the format; another one is refused with those there are."""
    empty = contents.empty("least_privilege").to_arrow()
    proposal = Proposal(bindings=(), added=(), removed=(), least_privilege=empty, backtest=empty)

    with pytest.raises(PipelineError, match=r"allowed: \.yaml"):
        write_set(tmp_path / "set.docx", proposal)
    write_set(tmp_path / "set.csv", proposal)
    assert Path(tmp_path / "set.csv").read_text().startswith("KafkaPrincipal")
