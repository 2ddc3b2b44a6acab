"""What is true of the pages in Markdown: links lead somewhere, docs/README.md names each page."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from testkit import decisions_page
from testkit.checkout import ROOT, name_of, tracked_files

if TYPE_CHECKING:
    from pathlib import Path

FOLDERS = ("tutorials", "how-to", "reference", "explanation")
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"^    .*?$|`[^`\n]*`", re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
PARAGRAPH_END = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )")
NO_SENTENCES = re.compile(r"^(?:\||#|!\[).*$", re.MULTILINE)
WORDS_PER_SENTENCE_MAX = 25
WORDS_WITHOUT_SECTIONS_MAX = 1_500
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


def test_the_index_names_every_page() -> None:
    """README.md leads to the index of docs/, and that to each page."""
    named = {link.partition("#")[0] for link in links(ROOT / "docs" / "README.md")}
    sorted_pages = {
        f"{folder}/{page.name}" for folder in FOLDERS for page in pages(f"docs/{folder}")
    }

    assert sorted_pages - named == set()
    assert [page.name for page in pages("docs")] == ["README.md"]
    assert "docs/README.md" in links(ROOT / "README.md")


def sentences(page: Path) -> list[str]:
    """Return the sentences of a page's paragraphs and lists; tables and code have none."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    text = LINK.sub("x", CODE.sub("x", NO_SENTENCES.sub("", text)))
    return [
        sentence
        for paragraph in PARAGRAPH_END.split(text)
        for sentence in SENTENCE_END.split(paragraph)
        if sentence.strip()
    ]


def site_pages() -> list[Path]:
    """Return the pages of docs/ but the decision records."""
    folders = ("docs", *(f"docs/{folder}" for folder in FOLDERS))
    return [page for folder in folders for page in pages(folder)]


def test_sentences_are_short() -> None:
    """The sentences of a page have fewer than 25 words on average."""
    long = {}
    for page in site_pages():
        found = sentences(page)
        words = sum(len(sentence.split()) for sentence in found)
        if words >= WORDS_PER_SENTENCE_MAX * len(found):
            long[name_of(page)] = round(words / len(found), 1)

    assert long == {}


def test_long_pages_have_sections() -> None:
    """A page of over 1,500 words is divided by headings of the second level."""
    texts = {name_of(page): page.read_text(encoding="utf-8") for page in site_pages()}

    assert [
        name
        for name, text in texts.items()
        if len(text.split()) > WORDS_WITHOUT_SECTIONS_MAX and "\n## " not in text
    ] == []


def test_decisions_have_numbers_of_their_own() -> None:
    """No two pages of docs/decisions share a number."""
    numbers = Counter(page.name[:4] for page in decisions_page.decision_files())

    assert [number for number, count in numbers.items() if count > 1] == []


def test_decisions_have_a_header() -> None:
    """Each page of docs/decisions has a title with its number, a date, a status and a subject."""
    files = decisions_page.decision_files()

    assert [decision.file for decision in decisions_page.decisions()] == [
        file.name for file in files
    ]


@pytest.mark.parametrize(
    "text",
    [
        "# 0001: Title\n\n**Context.** None.\n",
        "# 0002: Title\n\n- Date: 2026-01-31\n- Status: accepted\n- Subject: Wire codec\n\nText\n",
        "# 0001: Title\n\n- Date: January\n- Status: accepted\n- Subject: Wire codec\n\nText\n",
        "# 0001: Title\n\n- Date: 2026-01-31\n- Status: new\n- Subject: Wire codec\n\nText\n",
        "# 0001: Title\n\n- Date: 2026-01-31\n- Status: accepted\n- Subject: Others\n\nText\n",
    ],
)
def test_a_decision_without_a_header_is_named(text: str) -> None:
    """A header that lacks something, or has a number or a subject of its own, is an error."""
    with pytest.raises(ValueError, match="0001-title: no header"):
        decisions_page.parse("0001-title", text)


def test_decisions_agree_on_what_replaced_them() -> None:
    """A decision that is superseded or changed by another is named in the other's status."""
    found = decisions_page.decisions()
    forward = {
        (number, relation, decision.number)
        for decision in found
        for relation, number in decision.successors
    }
    backward = {
        (decision.number, relation, number)
        for decision in found
        for relation, number in decision.predecessors
    }

    assert forward == backward


def test_the_index_of_decisions_is_current() -> None:
    """If not: PYTHONPATH=tests python -m testkit.decisions_page."""
    assert decisions_page.PAGE.read_text(encoding="utf-8") == decisions_page.page()
