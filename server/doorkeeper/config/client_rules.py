"""Rules for clients by their software, whose name and version they give in ApiVersions.

    name=numbers            any version
    name/3.0=numbers        3.0, 3.0.12, 3.0-rc1, but not 3.01
    unnamed=numbers         clients that give no name: ApiVersions before version 3, or none at all

The first rule that fits a client is its rule.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.config.given import Place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.config.given import Given

_RULE = re.compile(r"([A-Za-z0-9.-]+)(?:/([A-Za-z0-9.-]+))?=(\d{1,10}(?:/\d{1,10})*)", re.ASCII)


class ClientSoftware(NamedTuple):
    """What a client said of itself."""

    name: str = "unnamed"
    version: str = ""


class ClientRule(NamedTuple):
    """A rule for a software, in all versions or in those that begin so."""

    software: str
    version: str
    numbers: tuple[int, ...]

    def fits(self, client: ClientSoftware) -> bool:
        """Say whether this is a rule for the client."""
        if client.name != self.software or not client.version.startswith(self.version):
            return False
        return not self.version or client.version[len(self.version) :][:1] in ("", ".", "-")


def rule_for(rules: Iterable[ClientRule], client: ClientSoftware) -> ClientRule | None:
    """Return the first rule that fits, if any does."""
    return next((rule for rule in rules if rule.fits(client)), None)


def client_rules_of(given: Given, key: str, *numbers: str) -> tuple[ClientRule, ...]:
    """Read the rules of a key; ``numbers`` are words for what each number is."""
    rules = []
    for text in given.list(key):
        found = _RULE.fullmatch(text)
        values = () if found is None else tuple(map(int, found.group(3).split("/")))
        if found is not None and len(values) == len(numbers):
            rules.append(ClientRule(found.group(1), found.group(2) or "", values))
        else:
            allowed = f"software=<{'>/<'.join(numbers)}>, or software/version=..., comma-separated"
            given.problem(Place(key), f"found {text!r}; allowed: {allowed}")
    return tuple(rules)
