"""Code of pages without commands: it runs as it stands there, and settings are accepted."""

from __future__ import annotations

import ast
import subprocess
import sys
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
import yaml

from testkit.checkout import ROOT
from testkit.e2e import serving
from testkit.frame_steps import make_topics, new_topic
from testkit.page_commands import BLOCK, page

if TYPE_CHECKING:
    from pathlib import Path

PAGES = sorted(
    path for path in (ROOT / "docs").rglob("*.md") if path.parent.name not in ("decisions", "docs")
)


def blocks(text: str, language: str) -> list[str]:
    """Return the fenced blocks of a language."""
    return [
        dedent(block["body"])
        for block in BLOCK.finditer(text)
        if block["fence"] and block["info"].split()[:1] == ([language] if language else [])
    ]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_code_blocks_are_valid(path: Path) -> None:
    """Python is parsed, and so is YAML; a second block of a file may lean on the first."""
    text = path.read_text(encoding="utf-8")

    for code in blocks(text, "python"):
        ast.parse(code)
    for document in blocks(text, "yaml"):
        assert list(yaml.safe_load_all(document))


def test_policy_of_the_page_rejects(tmp_path: Path) -> None:
    (code,) = blocks(page("policies.md"), "python")
    (tmp_path / "few.py").write_text(code, encoding="utf-8")
    keys = ("create.topic.policy.class.name=few.FewPartitions", "few.partitions=2")
    made = make_topics(
        new_topic("orders", num_partitions=2), new_topic("wide", num_partitions=3), version=7
    )
    with serving(tmp_path, *keys) as server, server.connect() as conversation:
        answer = conversation.call(made.request, made.response, made.version)
    assert [(each.error_code, each.error_message) for each in answer.topics] == [
        (0, None),
        (44, "wide: at most 2 partitions."),
    ]


def test_managed_spark_script_matches_the_command(tmp_path: Path) -> None:
    text = page("pipeline-reference.md")
    (code,) = blocks(text, "python")
    (tmp_path / "access.py").write_text(code, encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "access.py", "run", "--help"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0
    assert done.stdout.startswith("Usage: ")
