"""What ``docs/how-to/client.md`` prints runs, and says what the client has."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import doorkeeper.client
from doorkeeper.client import AdminClient, ClientConfig, ClientError
from testkit.checkout import ROOT
from testkit.serving import Serving

PAGE = (ROOT / "docs" / "how-to" / "client.md").read_text(encoding="utf-8")


def test_the_example_runs_as_printed(tmp_path: Path) -> None:
    """Against a server with default settings, but for the port."""
    (example,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    with Serving(tmp_path) as server:
        script = tmp_path / "example.py"
        script.write_text(example.replace("localhost:9092", f"localhost:{server.port()}"))
        done = subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False
        )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "created\norders User:alice READ\n"
    assert "prints `created` and `orders User:alice READ`" in PAGE


def test_the_page_names_everything() -> None:
    """Every call, every field with its default, every error."""
    calls = [name for name in vars(AdminClient) if not name.startswith("_") and name != "close"]
    errors = [
        each.__name__ for each in ClientError.__subclasses__() if each.__name__ != "RetryNeeded"
    ]

    assert [name for name in calls if f"`{name}(" not in PAGE] == []
    assert sorted(re.findall(r"^\| `([A-Z]\w+)` \|", PAGE, re.MULTILINE)) == sorted(errors)
    for field in dataclasses.fields(ClientConfig):
        assert f"`{field.name}`" in PAGE or field.name == "bootstrap", field.name
        if isinstance(field.default, int):
            assert str(field.default) in PAGE, field.name


def test_what_is_exported_is_there() -> None:
    """Names that are imported later too; others are none."""
    for name in doorkeeper.client.__all__:
        assert getattr(doorkeeper.client, name) is not None
    assert not hasattr(doorkeeper.client, "nothing")
