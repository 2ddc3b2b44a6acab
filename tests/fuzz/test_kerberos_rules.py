"""Rules for Kerberos names, and names, that nobody would write."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from doorkeeper.authn.gssapi import full_name
from doorkeeper.authn.kerberos_rules import NoShortName, ShortNamer
from testkit.fuzzing import fuzz

if TYPE_CHECKING:
    from collections.abc import Callable

SEEDS = (
    b"RULE:[2:$1.$2@$0](.*@EXAMPLE\\.COM)s/@.*//gL\nalice/host@EXAMPLE.COM",
    b"RULE:[1:$1](a|b[^c]+)s/(.)(?<n>.*)/$2${n}\\$/U\nabc@R",
    b"DEFAULT\nalice@EXAMPLE.COM",
    b"RULE:[1:$1]s/(a*)*b/x/\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac@R",
)
MODULES = (
    "doorkeeper.authn.java_regex",
    "doorkeeper.authn.java_regex_classes",
    "doorkeeper.authn.java_regex_parsing",
    "doorkeeper.authn.kerberos_rules",
)


def rule_and_name(data: bytes) -> None:
    """Read a rule, and give it a name: a short name, or an error of a line."""
    rule, _, name = data.decode("utf-8", "replace").partition("\n")
    try:
        namer = ShortNamer("EXAMPLE.COM", [rule])
    except ValueError as error:
        told = str(error)
        assert told.startswith("Invalid rule: ")
        return
    with suppress(NoShortName):
        found = namer.short_name(name)
        assert "@" not in found


def displayed(data: bytes) -> None:
    """Write a name as Java does, whatever its bytes."""
    assert isinstance(full_name(data), str)


@pytest.mark.slow
@pytest.mark.parametrize("target", [rule_and_name, displayed])
def test_any_rule_is_read_or_refused(target: Callable[[bytes], None]) -> None:
    """No rule and no name lead to another error, or to a search without end."""
    fuzz(target, SEEDS, modules=MODULES)
