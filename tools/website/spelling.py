"""Checks the spelling of the texts with cspell: ``python -m website.spelling``.

``tools/website/sphinx/cspell.json`` adds words to its dictionaries; ``sphinx/node`` pins it.
"""

from __future__ import annotations

import subprocess
import sys

from testkit.checkout import ROOT
from testkit.kafka_jars import Unavailable
from website.node import node_file, program

TEXTS = (
    *("docs/**/*.md", "changelog.d/*.md", "deploy/**/*.md", "examples/**/*.md"),
    *("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "STYLE.md", "SECURITY.md", "CHANGELOG.md"),
)
WORDS = ROOT / "tools" / "website" / "sphinx" / "cspell.json"


def main() -> int:
    """Print the unknown words by file and line; return cspell's status, which is 1 for any."""
    try:
        command = [program("node"), str(node_file("cspell/bin.mjs"))]
    except Unavailable as error:
        sys.exit(f"docs: {error}")
    command += ["--no-progress", "--no-summary", "--config", str(WORDS), "--root", str(ROOT)]
    return subprocess.run([*command, *TEXTS], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
