"""Rules for clients by software name and version, which they send in ApiVersions.

 name=numbers            any version
 name/3.0=numbers        3.0, 3.0.12, 3.0-rc1, but not 3.01
 unnamed=numbers         clients without a name: ApiVersions before version 3, or none at all

The first rule that matches a client applies. The key defines what the numbers are, such as a
maximum size, or the highest resource type and operation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct

from doorkeeper.base.values import NotAllowed

# re.ASCII: other digits than 0-9 would pass \d, and the names are those of ApiVersions (KIP-511).
_RULE = re.compile(r"([A-Za-z0-9.-]+)(?:/([A-Za-z0-9.-]+))?=(\d{1,10}(?:/\d{1,10})*)", re.ASCII)


class ClientSoftware(NamedTuple):
    """The software of a client, as it reports itself."""

    name: str = "unnamed"
    version: str = ""


class ClientRule(Struct, frozen=True):
    """A rule for client software: all versions, or those with a prefix."""

    software: str
    version: str
    numbers: tuple[int, ...]

    def fits(self, client: ClientSoftware) -> bool:
        if client.name != self.software or not client.version.startswith(self.version):
            return False
        # A prefix ends at a part of the version: 3.0 does not match 3.01.
        return not self.version or client.version[len(self.version) :][:1] in ("", ".", "-")


def rule_for(rules: Iterable[ClientRule], client: ClientSoftware) -> ClientRule | None:
    return next((rule for rule in rules if rule.fits(client)), None)


def rules_of(texts: Iterable[str], *numbers: str) -> tuple[ClientRule, ...]:
    """Read rules; ``numbers`` describe each number for errors."""
    rules, wrong = [], []
    for text in filter(None, texts):
        match = _RULE.fullmatch(text)
        values = () if match is None else tuple(map(int, match.group(3).split("/")))
        if match is not None and len(values) == len(numbers):
            rules.append(ClientRule(match.group(1), match.group(2) or "", values))
        else:
            wrong.append(text)
    if wrong:
        allowed = f"software=<{'>/<'.join(numbers)}>, or software/version=..., comma-separated"
        raise NotAllowed(wrong, allowed)
    return tuple(rules)


def withheld(texts: Iterable[str]) -> tuple[ClientRule, ...]:
    """Read the rules of the key for ACLs that clients cannot decode."""
    return rules_of(texts, "highest resource type", "highest operation")


def answer_sizes(texts: Iterable[str]) -> tuple[ClientRule, ...]:
    """Read the rules of the key for the size of responses."""
    return rules_of(texts, "bytes")
