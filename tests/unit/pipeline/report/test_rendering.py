"""The report as HTML."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache
from html.parser import HTMLParser
from typing import Any

from doorkeeper_pipeline.report.model import About
from doorkeeper_pipeline.report.rendering import (
    digest_of,
    html_parts,
)
from doorkeeper_pipeline.report.writing import report_of
from testkit.report_tables import small_tables, table_of

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "</style><img src=x onerror=alert(3)>",
    '" onmouseover="alert(4)',
    "' autofocus onfocus='alert(5)",
    "--><svg onload=alert(6)>",
    "{{ 7 * 7 }}{% raise %}",
    "javascript:alert(7)",
    "&lt;b&gt;&#60;",
    "\u202eexe.txt",
    "a\x00b\x1b]0;x\x07",
    "x" * 4_000,
)  # fmt: skip
VOID = {"meta", "link", "path", "line", "rect", "input", "br", "img"}


class Elements(HTMLParser):
    """Collects the elements of a page, its attributes, its text, and what was not closed."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.names: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            self.attributes.append((tag, name))
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src"):
                self.links.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        self.texts.setdefault(inside, []).append(data)


def read(html: str) -> Elements:
    parser = Elements()
    parser.feed(html)
    return parser


def about(**changes: Any) -> About:
    return About(**{"made": datetime(2026, 11, 8, 6, 30, tzinfo=UTC)} | changes)


@cache
def page() -> str:
    return "".join(html_parts(report_of(small_tables(), about(cluster="prod"))))


@cache
def hostile_page() -> str:
    """Return a page in which every text of every table is hostile."""
    frames = {}
    words = {"action": "SAFE", "cause": "unused", "severity": "HIGH"}
    own: dict[str, dict[str, Any]] = {
        "findings": words,
        "runs": {"asked": None, "listed": []},
        "files": {"numbers": None, "lost_days": []},
    }
    for name in ("findings",
                 "decisions", "denied", "grant_usage", "unused_grants", "overbroad_grants",
                 "least_privilege", "backtest", "drift", "new_access", "quarantine", "files",
                 "runs"):  # fmt: skip
        rows = []
        for text in HOSTILE:
            row: dict[str, Any] = {}
            for column in table_of(name, []).collect_schema():
                kind = table_of(name, []).collect_schema()[column]
                if str(kind) == "String":
                    row[column] = text
                elif str(kind).startswith("List"):
                    row[column] = [text, text]
            row |= {"count": 1, "uses": 1, "resource_count": 2, "host_count": 2}
            rows.append(row | own.get(name, {}))
        names = set(table_of(name, []).collect_schema())
        frames[name] = table_of(
            name, ({key: each[key] for key in each if key in names} for each in rows)
        )
    return "".join(html_parts(report_of(frames, about(cluster=HOSTILE[0]))))


def test_names_are_escaped_in_html() -> None:
    harmless, hostile = read(page()), read(hostile_page())

    assert set(hostile.names) <= set(harmless.names) | {"a"}
    assert set(hostile.attributes) <= {*harmless.attributes, ("p", "class"), ("span", "title")}
    assert hostile.names.count("script") == hostile.names.count("style") == 1
    assert not [name for _, name in hostile.attributes if name.startswith("on")]
    assert hostile.texts["script"] == harmless.texts["script"]


def test_hostile_names_are_shown() -> None:
    """Nothing is swallowed either: the text of a name is on the page, its controls as escapes."""
    shown_text = "".join("".join(texts) for texts in read(hostile_page()).texts.values())

    for text in HOSTILE[:9]:
        assert text in shown_text
    assert '<span class="esc">\\u202e</span>exe.txt' in hostile_page()
    assert '<span class="esc">\\x1b</span>]0;x<span class="esc">\\x07</span>' in hostile_page()
    assert not re.search(
        "[\x00-\x08\x0e-\x1f\x7f\u200b-\u200f\u202a-\u202e\ud800-\udfff]", shown_text
    )


def test_page_is_self_contained() -> None:
    found = read(page())

    console = "http://localhost:9480/grants"
    assert {link for link in found.links if not link.startswith("#")} == {"data:,", console}
    assert {link[1:] for link in found.links if link.startswith("#")} <= set(found.ids)
    assert "http" not in page().replace("http-equiv", "").replace(f'<a href="{console}">', "")
    assert "url(" not in page()
    assert "@import" not in page()
    assert not [name for _, name in found.attributes if name == "style"]


def test_content_security_policy_has_digests() -> None:
    policy = re.search('Content-Security-Policy" content="([^"]+)"', page())
    style = re.search("<style>(.*?)</style>", page(), re.DOTALL)
    script = re.search("<script>(.*?)</script>", page(), re.DOTALL)
    assert policy is not None
    assert style is not None
    assert script is not None

    directives = policy[1].replace("&#39;", "'")
    assert directives.startswith("default-src 'none'")
    assert f"style-src '{digest_of(style[1])}'" in directives
    assert f"script-src '{digest_of(script[1])}'" in directives
    assert "unsafe" not in directives
