"""Writes docs/limits.md from the table: ``PYTHONPATH=tests python -m testkit.limits_page``."""

from __future__ import annotations

from dataclasses import fields

from doorkeeper.limits import UNLIMITED, Limits
from testkit.checkout import ROOT

PAGE = ROOT / "docs" / "limits.md"

HEAD = """\
# Limits

What the server's edge bears, and why. Made from `server/doorkeeper/limits.py` by
`PYTHONPATH=tests python -m testkit.limits_page`; a test keeps it current.

On each connection one change is under way at a time; the requests behind it wait, and the server
reads no further until it is answered. It also stops reading while a peer does not take its
answers. The ACL engine has bounds of its own (10,000 creations or deletions in a request), which
are Kafka's.

| limit | default | key | why |
|---|---|---|---|
"""


def page() -> str:
    """Return the text of the page."""
    defaults = Limits()
    rows = [
        f"| `{item.name}` | {_text(getattr(defaults, item.name))} | {_key(item.metadata['key'])} |"
        f" {item.metadata['why']} |\n"
        for item in fields(Limits)
    ]
    return HEAD + "".join(rows)


def _key(key: str) -> str:
    return f"`{key}`" if key else "fixed"


def _text(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and value != UNLIMITED else "none"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
