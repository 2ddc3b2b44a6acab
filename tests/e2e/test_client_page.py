"""What ``docs/how-to/client.md`` prints runs, and says what the client has."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

from testkit.checkout import ROOT
from testkit.load import scaled
from testkit.serving import Serving

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs" / "how-to" / "client.md").read_text(encoding="utf-8")


def test_page_example_runs_as_printed(tmp_path: Path) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    with Serving(tmp_path) as server:
        script = tmp_path / "example.py"
        script.write_text(example.replace("localhost:9092", f"localhost:{server.port()}"))
        done = subprocess.run(
            [sys.executable, str(script)],
            capture_output=True,
            text=True,
            timeout=scaled(60),
            check=False,
        )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "created\norders User:alice READ\n"
    assert "prints `created` and `orders User:alice READ`" in PAGE
