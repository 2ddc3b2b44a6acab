"""The pages and sections whose commands need Kafka's own scripts print what they show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from testkit.checkout import ROOT
from testkit.kafka_jars import VERSIONS
from testkit.kafka_tools import write_scripts
from testkit.page_commands import Reader, commands, comparable, page

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from testkit.kafka_tools import KafkaTools


@pytest.mark.parametrize(
    ("name", "section"), [("operating.md", ""), ("configuration.md", ""), ("security.md", "PLAIN")]
)
def test_page_output_is_correct(
    name: str, section: str, kafka_tools: Callable[[str], KafkaTools], tmp_path: Path
) -> None:
    text = page(name)
    if section:
        text = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    folder = tmp_path / "page"
    folder.mkdir()
    (folder / "examples").symlink_to(ROOT / "examples")

    with Reader(folder, tmp_path / "bin") as reader:
        write_scripts(
            kafka_tools(VERSIONS[0]).jars, tmp_path / "bin", plain=reader.server, sasl=reader.server
        )
        printed = reader.follow(text)

    assert len(printed) >= 4
    assert comparable(printed) == comparable(commands(text))
