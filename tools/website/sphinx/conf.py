"""The documentation site: Sphinx reads docs/ as it stands; scripts/site starts it.

Sphinx with MyST and Furo, because its search works from files and a broken link is a warning, which
fails the build. MkDocs has had no release since 2024; generators from npm would be a second tool
chain for the pages alone.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests")]

from doorkeeper.base.version import __version__  # noqa: E402
from pages.built import MARK, expand  # noqa: E402

DOCS = ROOT / "docs"
DIAGRAMS = ROOT / "build" / "diagrams"

project = "Doorkeeper"
release = __version__
root_doc = "README"
extensions = ["myst_parser", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["images"]
highlight_language = "text"
smartquotes = False
myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]

html_theme = "furo"
html_title = f"Doorkeeper {release}"
html_theme_options: dict[str, object] = {"top_of_page_buttons": ["view"]}
if repository := os.environ.get("DOORKEEPER_REPOSITORY"):
    # Elsewhere the button leads to a copy of the source.
    html_theme_options |= {
        "source_repository": repository,
        "source_branch": "main",
        "source_directory": "docs/",
    }
# Copied is what follows the prompt; of a block without one, all of it.
copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_show_sphinx = False
# A page opened from a file may not fetch others, which summaries of results need.
html_show_search_summary = False
pygments_style = "a11y-high-contrast-light"

FENCED = re.compile(r"^(```.*?^```)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
SECTION = re.compile(r"^## (.*)$")
ROW = re.compile(r"^\| \[[^\]]*\]\(([\w/-]+)\.md\)")
DIAGRAM_WORDS = re.compile(r"^\s*acc(Title|Descr): *(.+)$", re.MULTILINE)
SCROLLS = re.compile(r"(<pre|<div class=\"table-wrapper[^>]*\")>")


def navigation(index: str) -> str:
    """Return the trees of pages: a caption for each section of the index, a page for each row."""
    trees: dict[str, list[str]] = {}
    section = ""
    for line in index.splitlines():
        if found := SECTION.match(line):
            section = found[1]
        elif found := ROW.match(line):
            entries = trees.setdefault(section, [])
            if found[1] not in (page for pages in trees.values() for page in pages):
                entries.append(found[1])
    return "".join(
        f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```\n"
        for caption, pages in trees.items()
        if pages
    )


def link_within_site(page: Path, text: str, target: str) -> str:
    """Return a link as the site has it.

    A page that is called by its file gets its title. A file outside docs/ is a download, and a
    folder its name alone.
    """
    name = target.partition("#")[0]
    if not name or ":" in name:
        return f"[{text}]({target})"
    path = Path(os.path.normpath(page.parent / name))
    if path.is_relative_to(DOCS) or not path.exists():
        return f"[{'' if text == path.name else text}]({target})"
    return text if path.is_dir() else f"[{text}](path:{name})"


def read_source(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Make the text of a page fit the site: its links, and its place in the navigation."""
    page = DOCS / f"{docname}.md"
    parts = FENCED.split(expand(source[0]))
    for number in range(0, len(parts), 2):
        parts[number] = LINK.sub(lambda m: link_within_site(page, m[1], m[2]), parts[number])
    text = "".join(parts)
    if docname == root_doc:
        text += navigation(text)
    elif docname.startswith("decisions/"):
        # They are for maintainers: neither in the navigation, but for their index, nor searched.
        orphan = "" if docname == "decisions/README" else "orphan: true\n"
        text = f"---\nnosearch: true\n{orphan}---\n{text}"
    source[0] = text


class Diagram(SphinxDirective):
    """A Mermaid text: the picture that ``website.diagrams`` made, under its title and text."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        text = "\n".join(self.content)
        words = dict(DIAGRAM_WORDS.findall(text))
        if set(words) != {"Title", "Descr"}:
            raise self.error("a diagram needs the lines accTitle: and accDescr:")
        digest = hashlib.sha256(text.strip().encode()).hexdigest()[:16]
        page = Path(self.env.doc2path(self.env.docname))
        picture = os.path.relpath(DIAGRAMS / f"{digest}.svg", page.parent)
        return [nodes.image(uri=picture, alt=f"{words['Title']}: {words['Descr']}")]


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Mend what axe-core finds in the pages of the theme, and make the home page the first one.

    What scrolls is reached by keyboard, and headings of the navigation have a level.
    """
    if exception is not None:
        return
    for page in Path(app.outdir).rglob("*.html"):
        html = page.read_text(encoding="utf-8")
        mended = SCROLLS.sub(r'\1 tabindex="0">', html)
        mended = mended.replace('role="heading">', 'role="heading" aria-level="2">')
        if mended != html:
            page.write_text(mended, encoding="utf-8")
    shutil.copyfile(Path(app.outdir) / f"{root_doc}.html", Path(app.outdir) / "index.html")


def outdated(app: Sphinx, _env: BuildEnvironment, *_sets: set[str]) -> list[str]:
    """Return the pages with generated parts: what those are made from may have changed."""
    pages = (path for path in DOCS.rglob("*.md") if MARK.search(path.read_text(encoding="utf-8")))
    return [app.project.path2doc(path) or "" for path in pages]


def setup(app: Sphinx) -> None:
    app.connect("env-get-outdated", outdated)
    app.connect("source-read", read_source)
    app.connect("build-finished", finish)
    app.add_directive("mermaid", Diagram)
