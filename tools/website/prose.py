"""Checks the prose of docs/ with Vale and the Google style: ``python -m website.prose``.

At most five findings in 1,000 words. ``tools/website/vale`` has the style and the configuration.
Vale is a program in Go: ``go install github.com/vale-cli/vale/v3/cmd/vale@v3.21.0``.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

from testkit.checkout import ROOT

CONFIGURATION = ROOT / "tools" / "website" / "vale" / "vale.ini"
PER_1000_WORDS = 5.0


def main() -> int:
    """Print the findings and their share; return 1 if there are too many."""
    vale = shutil.which("vale")
    if vale is None:
        print("docs: prose is left out, vale is not installed")
        return 0
    pages = [path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "decisions"]
    words = sum(len(path.read_text(encoding="utf-8").split()) for path in pages)
    done = subprocess.run(
        [vale, "--config", str(CONFIGURATION), "--output", "JSON", *map(str, pages)],
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout)
    findings = [(file, row) for file, rows in found.items() for row in rows]
    share = 1000 * len(findings) / words
    if share > PER_1000_WORDS:
        for file, row in findings:
            print(f"{file}:{row['Line']}: {row['Check']}: {row['Message']}")
    print(f"docs: {len(findings)} findings in {words} words, {share:.1f} in 1,000")
    return int(share > PER_1000_WORDS)


if __name__ == "__main__":
    sys.exit(main())
