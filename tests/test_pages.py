"""What is true of the pages in Markdown: their links lead somewhere, README.md leads to them."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from testkit.checkout import ROOT, name_of, tracked_files

if TYPE_CHECKING:
    from pathlib import Path

FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"^    .*?$|`[^`\n]*`", re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)


def pages(folder: str = "") -> list[Path]:
    """Return the pages that git tracks; those of one folder, if one is named."""
    found = [path for path in tracked_files() if path.suffix == ".md"]
    return [page for page in found if page.parent == ROOT / folder] if folder else found


def links(page: Path) -> list[str]:
    """Return where the links of a page lead that stay in the checkout."""
    text = CODE.sub("", FENCED.sub("", page.read_text(encoding="utf-8")))
    return [link for link in LINK.findall(text) if "://" not in link]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = HEADING.findall(FENCED.sub("", page.read_text(encoding="utf-8")))
    words = (re.sub(r"[^\w\- ]", "", heading).strip().lower() for heading in headings)
    return {heading.replace(" ", "-") for heading in words}


def leads_somewhere(page: Path, link: str) -> bool:
    """Say whether a link's file is there, and the heading in it that it names."""
    name, _, anchor = link.partition("#")
    target = page.parent / name if name else page
    return target.exists() and (not anchor or anchor in anchors(target))


def test_links_lead_somewhere() -> None:
    """The file of each link is there, and so is the heading that it names."""
    broken = [
        f"{name_of(page)}: {link}"
        for page in pages()
        for link in links(page)
        if not leads_somewhere(page, link)
    ]

    assert broken == []


def test_the_readme_names_every_page() -> None:
    """Who reads README.md finds each page of docs/."""
    named = {link.partition("#")[0] for link in links(ROOT / "README.md")}

    assert {name_of(page) for page in pages("docs")} - named == set()


def test_decisions_have_numbers_of_their_own() -> None:
    """No two pages of docs/decisions share a number, and each begins with its own."""
    decisions = pages("docs/decisions")
    numbers = Counter(page.name[:4] for page in decisions)
    untitled = [
        page.name
        for page in decisions
        if not page.read_text(encoding="utf-8").startswith(f"# {page.name[:4]}: ")
    ]

    assert [number for number, count in numbers.items() if count > 1] == []
    assert untitled == []
