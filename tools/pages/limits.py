"""The table of docs/reference/limits.md, from ``doorkeeper.server.net.limits``."""

from __future__ import annotations

from doorkeeper.base.key import Key
from doorkeeper.base.values import INT_MAX
from doorkeeper.server.net.limits import REASONS, Limits

HEAD = "| limit | default | key | why |\n|---|---|---|---|\n"


def text() -> str:
    """Return the table."""
    defaults = Limits()
    rows = [
        f"| `{name}` | {_text(getattr(defaults, name))} | {_key(reason.key)} | {reason.why} |\n"
        for name, reason in REASONS.items()
    ]
    return "".join((HEAD, *rows))


def _key(key: Key[object] | None) -> str:
    return f"`{key}`" if key else "fixed"


def _text(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and value != INT_MAX else "none"
