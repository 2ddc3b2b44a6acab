"""What is true of the pages in Markdown: links lead somewhere, docs/README.md names each page."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from pages import built
from testkit import command_lines
from testkit.checkout import ROOT, name_of, tracked_files

if TYPE_CHECKING:
    from pathlib import Path

FOLDERS = ("tutorials", "how-to", "reference", "explanation")
COMMITTED = ("configuration", "dashboard")
"""The generators of files that are committed."""
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"^    .*?$|`[^`\n]*`", re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)


def pages(folder: str = "") -> list[Path]:
    """Return the pages that git tracks; those of one folder, if one is named."""
    found = [path for path in tracked_files() if path.suffix == ".md"]
    return [page for page in found if page.parent == ROOT / folder] if folder else found


@functools.cache
def text_of(page: Path) -> str:
    """Return the text of a page as the site has it, with its generated parts."""
    return built.expand(page.read_text(encoding="utf-8"))


def links(page: Path) -> list[str]:
    """Return where the links of a page lead that stay in the checkout."""
    text = CODE.sub("", FENCED.sub("", text_of(page)))
    return [link for link in LINK.findall(text) if "://" not in link]


@functools.cache
def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = HEADING.findall(FENCED.sub("", text_of(page)))
    words = (re.sub(r"[^\w\- ]", "", heading).strip().lower() for heading in headings)
    return {heading.replace(" ", "-") for heading in words}


def leads_somewhere(page: Path, link: str) -> bool:
    """Say whether a link's file is there, and the heading in it that it names."""
    name, _, anchor = link.partition("#")
    target = page.parent / name if name else page
    return target.exists() and (not anchor or anchor in anchors(target))


def test_links_have_targets() -> None:
    broken = [
        f"{name_of(page)}: {link}"
        for page in pages()
        for link in links(page)
        if not leads_somewhere(page, link)
    ]

    assert broken == []


def test_generated_parts_are_not_committed() -> None:
    """Each generator has one page, which says how to read what is generated."""
    generators = {path.stem for path in (ROOT / "tools" / "pages").glob("*.py")}
    texts = [page.read_text(encoding="utf-8") for page in pages()]
    parts = [part for text in texts for part in built.MARK.findall(text)]

    assert set(parts) == generators - {"__init__", "__main__", "built", *COMMITTED}
    assert len(parts) == len(set(parts))
    assert all("make site" in text for text in texts if built.MARK.search(text))


def test_index_lists_every_page() -> None:
    named = {link.partition("#")[0] for link in links(ROOT / "docs" / "README.md")}
    sorted_pages = {
        f"{folder}/{page.name}" for folder in FOLDERS for page in pages(f"docs/{folder}")
    }

    assert sorted_pages - named == set()
    assert [page.name for page in pages("docs")] == ["README.md"]
    assert "docs/README.md" in links(ROOT / "README.md")


def test_decisions_are_short_and_in_their_index() -> None:
    """A page of at most 300 words for each decision that still holds."""
    index = ROOT / "docs" / "decisions" / "README.md"
    decisions = [page for page in pages("docs/decisions") if page != index]
    words = {page.name: len(page.read_text(encoding="utf-8").split()) for page in decisions}

    assert set(links(index)) == set(words)
    assert {name: number for name, number in words.items() if number > 300} == {}


def test_pages_stay_small_enough_to_be_read() -> None:
    """Whoever adds to a page cuts elsewhere: 126,000 words were more than anybody kept true."""
    words = {
        str(page.relative_to(ROOT / "docs")): len(page.read_text(encoding="utf-8").split())
        for page in (ROOT / "docs").rglob("*.md")
    }
    generated = words["reference/configuration.md"]
    decisions = sum(number for name, number in words.items() if name.startswith("decisions/"))

    assert sum(words.values()) <= 60_000
    assert sum(words.values()) - generated - decisions <= 45_000


def test_documented_commands_and_options_exist() -> None:
    lines = command_lines.lines()
    faults = {line.text: command_lines.fault(line.text) for line in lines}

    assert len(lines) > 100
    assert [text for text, fault in faults.items() if fault is not None] == []
    assert command_lines.fault("doorkeeper acls list --output xml") is not None
