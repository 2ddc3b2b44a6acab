"""The files and commands of ``docs/reference/security.md``."""

import re
from textwrap import dedent

from testkit.checkout import ROOT


def blocks(heading: str) -> list[str]:
    """Return the indented blocks of a section; ``heading`` begins with its ``##``."""
    page = (ROOT / "docs" / "reference" / "security.md").read_text(encoding="utf-8")
    level = heading.partition(" ")[0]
    section = page.partition(f"\n{heading}\n")[2].partition(f"\n{level} ")[0]
    parts = re.findall(r"(?:^    .*\n|^\n(?=    ))+", section, re.MULTILINE)
    return [dedent(part).strip("\n") + "\n" for part in parts if part.strip()]
