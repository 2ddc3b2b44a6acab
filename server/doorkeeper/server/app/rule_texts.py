"""What people read of each rule of configurations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from doorkeeper.server.app import config_rules

FILE: Final = Path(config_rules.__file__).with_name("rules.toml")


class RuleText(msgspec.Struct, frozen=True):
    """The title of a rule, and why it is a fault. The examples beside them serve page and tests."""

    title: str
    why: str


@cache
def rule_texts() -> Mapping[str, RuleText]:
    """Return the texts by the codes of the rules."""
    _, *codes = (tables := msgspec.toml.decode(FILE.read_bytes()))
    return msgspec.convert({code: tables[code] for code in codes}, dict[str, RuleText])
