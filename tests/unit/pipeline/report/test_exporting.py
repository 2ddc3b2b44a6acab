"""Tables as CSV and JSON lines."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

from doorkeeper_pipeline.report.writing import export
from testkit.report_tables import table_of

if TYPE_CHECKING:
    from pathlib import Path


def test_each_table_is_exported(tmp_path: Path) -> None:
    rows = [
        {"principal": '=HYPERLINK("http://x")', "hosts": ["a", "b"], "count": 3},
        {"principal": 'User:"a",\nb', "hosts": [], "count": 4},
    ]
    frames = {"denied": table_of("denied", rows), "files": table_of("files", [])}

    assert export(frames, tmp_path / "data") == ["denied", "files"]

    with (tmp_path / "data" / "denied.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert [row["principal"] for row in read] == ['\'=HYPERLINK("http://x")', 'User:"a",\nb']
    assert [row["hosts"] for row in read] == ["a; b", ""]
    lines = (tmp_path / "data" / "denied.jsonl").read_text().splitlines()
    assert [json.loads(line)["hosts"] for line in lines] == [["a", "b"], []]
    assert json.loads(lines[0])["principal"] == rows[0]["principal"]
    assert (tmp_path / "data" / "files.csv").read_text().startswith("file_id,")
