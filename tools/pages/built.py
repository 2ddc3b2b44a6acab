"""The parts of pages that are made when the site is built, and are not committed.

A page says ``<!-- generated: apis -->`` where ``pages.apis.text()`` belongs.
A quotation right above it is for readers of the source, and is not on the site.
"""

from __future__ import annotations

import functools
import importlib
import re

MARK = re.compile(r"^(?:>.*\n)*<!-- generated: (\w+) -->$", re.MULTILINE)


def expand(page: str) -> str:
    """Return the text of a page with its generated parts."""
    return MARK.sub(lambda mark: _part(mark[1]), page)


@functools.cache
def _part(name: str) -> str:
    part: str = importlib.import_module(f"pages.{name}").text()
    return part.rstrip("\n")
