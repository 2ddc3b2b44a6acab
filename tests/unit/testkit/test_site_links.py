"""The link check of the documentation site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from testkit.site_links import problems

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("element", "problem"),
    [
        ('<a href="other.html#here">', None),
        ('<a href="#own">', None),
        ('<a href="https://kafka.apache.org/43/">', None),
        ('<img src="data:image/svg+xml,x">', None),
        ('<a href="none.html">', "no such file: none.html"),
        ('<a href="other.html#there">', "no such anchor: other.html#there"),
        ('<a href="http://kafka.apache.org">', "no https URL: http://kafka.apache.org"),
        ('<img src="none.svg">', "no such file: none.svg"),
        (
            '<script src="https://cdn.example/x.js">',
            "loaded from elsewhere: https://cdn.example/x.js",
        ),
    ],
)
def test_broken_links_are_named(tmp_path: Path, element: str, problem: str | None) -> None:
    """A file or anchor that is not there, and what another host would serve."""
    (tmp_path / "page.html").write_text(f'<p id="own">{element}', encoding="utf-8")
    (tmp_path / "other.html").write_text('<h2 id="here">Here</h2>', encoding="utf-8")

    assert problems(tmp_path) == ([] if problem is None else [f"page.html: {problem}"])
