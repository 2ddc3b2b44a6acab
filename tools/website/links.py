"""Checks the links of the built site: ``python -m website.links build/site``.

Files and anchors must be there; nothing is loaded from
elsewhere; links to elsewhere are https URLs with a host, which are not followed.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
FOLLOWS = {("a", "href"), ("form", "action")}
# Drawn by the theme in the page itself.
INLINE = ("data:", "#svg-")


class Document(HTMLParser):
    """What a page of the site refers to, and what can be referred to in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors = {"", "top"}
        self.loads: list[str] = []
        self.follows: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in {"id", "name"} and value:
                self.anchors.add(value)
            elif (tag, name) in LOADS and value:
                self.loads.append(value)
            elif (tag, name) in FOLLOWS and value:
                self.follows.append(value)


def problems(site: Path) -> list[str]:
    """Return each broken link of a site, with its page."""
    documents = {path.resolve(): Document(path) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, document in documents.items():
        page = path.relative_to(site.resolve())
        for url in document.loads:
            if not url.startswith(INLINE):
                found += [f"{page}: {why}: {url}" for why in _loaded(path, url)]
        for url in document.follows:
            found += [f"{page}: {why}: {url}" for why in _followed(path, url, documents)]
    return found


def _loaded(path: Path, url: str) -> list[str]:
    parts = urlsplit(url)
    if parts.scheme or parts.netloc:
        return ["loaded from elsewhere"]
    return [] if (path.parent / unquote(parts.path)).exists() else ["no such file"]


def _followed(path: Path, url: str, documents: dict[Path, Document]) -> list[str]:
    parts = urlsplit(url)
    if parts.scheme or parts.netloc:
        # What the page tells the reader to start on this machine is the one exception.
        is_local = parts.scheme == "http" and parts.hostname == "localhost"
        is_remote = parts.scheme == "https" and "." in parts.netloc
        return [] if is_local or is_remote else ["no https URL"]
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.exists():
        return ["no such file"]
    document = documents.get(target)
    if document is not None and unquote(parts.fragment) not in document.anchors:
        return ["no such anchor"]
    return []


def main(site: Path) -> None:
    found = problems(site)
    if found:
        sys.exit("\n".join(f"docs: {problem}" for problem in found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
