"""The command lines that make a change of ACLs: those of kafka-acls.sh, and ours.

Ours take the same options. What options have no words for is changed by a plan of one item:

    printf %s '{"version": 1, "added": [], "removed": [...]}' | doorkeeper acls apply - PLACE --plan
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from doorkeeper.acl.formats.commands import KAFKA_ACLS, options_of
from doorkeeper.acl.planning import Plan
from doorkeeper.cli.acls import plans as acl_plans
from doorkeeper.cli.acls.texts import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.acl.model import AclBinding

_SERVER_WORDS = (("--bootstrap-server",), ("--bootstrap-controller",))


def commands_of(
    added: Sequence[AclBinding], removed: Sequence[AclBinding], words: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the lines of kafka-acls.sh, and those of ours, that make a change.

    What is added comes first, so that nobody loses in between what they keep.
    """
    steps = [(each, True) for each in added] + [(each, False) for each in removed]
    server = words if words[:1] in _SERVER_WORDS else NOWHERE
    kafkas = [kafka_acls_command(each, add=add, server=server) for each, add in steps]
    ours = [our_command(each, add=add, words=words) for each, add in steps]
    return [each for each in kafkas if each], [each for each in ours if each]


def kafka_acls_command(
    binding: AclBinding, *, add: bool, server: Sequence[str] = NOWHERE
) -> str | None:
    """Return the line that adds or removes a binding; None where the tool has none for it.

    See ``options_of``; nor is there one for what does not print.
    """
    options = _options(binding)
    if options is None:
        return None
    action = ["--add"] if add else ["--remove", "--force"]
    return shlex.join([KAFKA_ACLS, *server, *action, *options])


def our_command(binding: AclBinding, *, add: bool, words: Sequence[str]) -> str | None:
    """Return the line of ours that adds or removes a binding; None without a principal's type.

    Where options have no words for it, it is the only item of a plan.
    """
    options = _options(binding)
    if options is None:
        return _applied(binding, add=add, words=words) if ":" in binding.entry.principal else None
    action = ["add"] if add else ["remove", "--force"]
    return shlex.join(["doorkeeper", "acls", *action, *words, *options])


def _applied(binding: AclBinding, *, add: bool, words: Sequence[str]) -> str:
    """Return the line that applies a plan with one item; JSON prints whatever names hold."""
    nothing: tuple[AclBinding, ...] = ()
    one = (binding,)
    plan = Plan(one if add else nothing, nothing if add else one, kept=0, foreign=0)
    place = shlex.join(["doorkeeper", "acls", "apply", "-", *_place_of(words), "--plan", "--yes"])
    return f"printf %s {shlex.quote(json.dumps(acl_plans.record(plan)))} | {place}"


def _place_of(words: Sequence[str]) -> list[str]:
    """Return the words by which sets of ACLs name a source; FILE for a store that none names."""
    match list(words):
        case ["--bootstrap-server", servers, *more]:
            return [f"kafka://{servers}", *more]
        case ["--bootstrap-controller", servers, *more]:
            return [f"controllers://{servers}", *more]
        case ["--config", file]:
            return [f"config:{file}"]
        case _:
            return ["config:FILE"]


def _options(binding: AclBinding) -> list[str] | None:
    texts = (binding.pattern.name, *binding.entry[:2])
    return options_of(binding) if all(map(str.isprintable, texts)) else None
