"""Draws the Mermaid diagrams of docs/ as SVG: ``python -m website.diagrams``.

A picture is named by the digest of its text, so only what changed is drawn. Chromium draws them,
since Mermaid measures its text; ``tools/website/sphinx/node`` pins it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pages.built import expand
from testkit.browser import opened
from testkit.checkout import ROOT
from testkit.kafka_jars import Unavailable
from website.node import node_file, program

if TYPE_CHECKING:
    from collections.abc import Iterable

FENCE = re.compile(r"^```mermaid\n(.*?)^```", re.DOTALL | re.MULTILINE)
MERMAID = "@mermaid-js/tiny/dist/mermaid.tiny.js"
# Labels as SVG text: a browser shows no HTML in an SVG that a page includes as a picture.
FOLDER = ROOT / "build" / "diagrams"
OPTIONS = (
    "{startOnLoad: false, securityLevel: 'strict', theme: 'neutral', htmlLabels: false,"
    " fontFamily: 'sans-serif', flowchart: {htmlLabels: false}}"
)


def texts() -> list[str]:
    """Return the diagrams of docs/, stripped."""
    pages = sorted((ROOT / "docs").rglob("*.md"))
    found = (FENCE.findall(expand(page.read_text(encoding="utf-8"))) for page in pages)
    return [text.strip() for page in found for text in page]


def file_name(text: str) -> str:
    """Return the name of the picture of a stripped diagram."""
    return f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.svg"


async def draw(library: Path, diagrams: Iterable[str], folder: Path) -> None:
    """Write the pictures of diagrams into a folder."""
    with tempfile.TemporaryDirectory() as place:
        page_file = Path(place) / "page.html"
        page_file.write_text(
            f'<!doctype html><meta charset="utf-8"><script src="{library.as_uri()}"></script>',
            encoding="utf-8",
        )
        async with opened() as tab:
            await tab.page.goto(page_file.as_uri())
            await tab.page.evaluate(f"mermaid.initialize({OPTIONS})")
            for text in diagrams:
                # The id is in the style sheet of the picture, so it is the same for the same text.
                number = f"d{file_name(text)[:8]}"
                svg = await tab.page.evaluate(
                    f"mermaid.render({number!r}, {json.dumps(text)}).then((drawn) => drawn.svg)"
                )
                (folder / file_name(text)).write_text(svg + "\n", encoding="utf-8")


def main(folder: Path) -> None:
    from playwright.async_api import Error

    folder.mkdir(parents=True, exist_ok=True)
    missing = [text for text in texts() if not (folder / file_name(text)).exists()]
    if not missing:
        return
    try:
        program("chromium", "chromium-browser")
        library = node_file(MERMAID)
        asyncio.run(draw(library, missing, folder))
    except (Error, Unavailable) as error:
        sys.exit(f"docs: the diagrams cannot be drawn: {error}")


if __name__ == "__main__":
    main(FOLDER)
