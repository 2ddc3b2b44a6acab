"""A rule that maps names, tried on one name: what certificates and Kerberos have in common."""

from __future__ import annotations

from typing import NamedTuple


class Trial(NamedTuple):
    """A rule as text, and the name that it gives; None if it does not apply."""

    rule: str
    name: str | None
