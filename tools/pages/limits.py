"""Writes docs/reference/limits.md."""

from __future__ import annotations

from pathlib import Path

from doorkeeper.base.key import Key
from doorkeeper.base.values import INT_MAX
from doorkeeper.server.net.limits import REASONS, Limits
from testkit.checkout import ROOT

PAGE = ROOT / "docs" / "reference" / "limits.md"

HEAD = """\
# Limits

What the server's edge bears, and why. Made from `server/doorkeeper/server/net/limits.py` by
`make generate`; `make check` keeps it current.

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
        f"| `{name}` | {_text(getattr(defaults, name))} | {_key(reason.key)} | {reason.why} |\n"
        for name, reason in REASONS.items()
    ]
    return HEAD + "".join(rows)


def _key(key: Key[object] | None) -> str:
    return f"`{key}`" if key else "fixed"


def _text(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and value != INT_MAX else "none"


def pages() -> dict[Path, str]:
    """Return the text of each page."""
    return {PAGE: page()}
