"""``doorkeeper acls export``, ``import``, ``diff``, ``plan`` and ``apply``: whole sets of ACLs.

What is planned is shown before it is done, in an order that stays, and only what is owned is ever
touched. The places are words, see ``acl_places``.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from doorkeeper.acl.formats.choosing import WRITTEN, Format, write
from doorkeeper.acl.formats.names import FormatError, resource_type
from doorkeeper.acl.model import Principal, ResourceType
from doorkeeper.acl.planning import PlanError, Selector, within
from doorkeeper.acl.planning import plan as planned
from doorkeeper.cli.acls import plans as acl_plans
from doorkeeper.cli.acls.applying import carry_out, fail_as_unplanned, show_plan
from doorkeeper.cli.acls.places import Place, completed, place_of, read
from doorkeeper.cli.acls.sources import STDIN, SourceError
from doorkeeper.cli.completing import one_of
from doorkeeper.cli.failures import fail
from doorkeeper.cli.files import write_whole
from doorkeeper.cli.options import output_option, utf8
from doorkeeper.cli.terminal import say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from doorkeeper.acl.model import AclBinding
    from doorkeeper.acl.planning import Plan

Command = TypeVar("Command", bound="Callable[..., Any] | click.Command")

CHANGES: Final = 2
"""The status of a plan that would change something, and of sets that differ."""

REMOVALS_MAX: Final = 100

_PLACES = """
\b
Places:
  acls.yaml                  a file of any format (YAML, JSON, CSV, a listing); - for stdin
  kafka://host:9092          brokers, Kafka's or ours; several with commas between
  controllers://host:9093    controllers
  config:server.properties   the store of a server that is stopped
"""
_STATUSES = """Exit statuses: 0 done; 1 it cannot be done, said on stderr; 2 wrong usage;
130 ended by Ctrl-C."""
_PLAN_STATUSES = """Exit statuses: 0 nothing would change; 1 it cannot be said, see stderr;
2 something would change, or wrong usage; 130 ended by Ctrl-C."""

_TYPES = [each.name.lower() for each in ResourceType if each > ResourceType.ANY]

_command_config = click.option(
    "--command-config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="How to reach running servers: the properties of a Java client.",
)
_removals_max = click.option(
    "--max-removals",
    "removals_max",
    metavar="COUNT",
    type=click.IntRange(min=0),
    default=REMOVALS_MAX,
    show_default=True,
    help="Refuse a plan that removes more.",
)


def selectors(command: Command) -> Command:
    """Give a command the options of ownership; ``_selector`` takes their values."""
    prefix = click.option(
        "--own-prefix",
        "prefixes",
        metavar="TEXT",
        multiple=True,
        type=utf8,
        callback=_prefixes,
        help="Touch only resources whose names begin so; may be repeated, as the next two.",
    )
    principal = click.option(
        "--own-principal",
        "principals",
        metavar="TYPE:NAME",
        multiple=True,
        type=utf8,
        callback=_principals,
        help="Touch only ACLs of this principal.",
    )
    kind = click.option(
        "--own-type",
        "types",
        metavar="TYPE",
        multiple=True,
        callback=_types,
        shell_complete=one_of(_TYPES),
        help="Touch only resources of this type, such as topic.",
    )
    return prefix(principal(kind(command)))


def _prefixes(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    # All names begin with an empty text: a script's empty variable would own the whole cluster.
    if "" in given:
        raise click.BadParameter("is empty, which would be every name; leave it out to own all")
    return given


def _principals(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    try:
        return tuple(str(Principal.parse(each)) for each in given)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _types(_context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]) -> Any:  # noqa: ANN401  what click wants
    try:
        return frozenset(map(resource_type, given))
    except FormatError as error:
        raise click.BadParameter(str(error)) from None


def _selector(options: Mapping[str, Any]) -> Selector:
    return Selector(
        prefixes=options["prefixes"],
        principals=frozenset(options["principals"]),
        resource_types=options["types"],
    )


@click.command(
    epilog=f"""{_PLACES}
\b
{_STATUSES}

\b
Examples:
  doorkeeper acls export kafka://localhost:9092 > acls.yaml
  doorkeeper acls export config:server.properties --format csv --out acls.csv
"""
)
@click.argument("place", shell_complete=completed)
@click.option(
    "--format",
    "how",
    type=click.Choice([each.value for each in WRITTEN]),
    default=Format.YAML.value,
    show_default=True,
    help="What to write.",
)
@click.option("--out", "file", metavar="FILE", type=click.Path(path_type=Path), help="Where to.")
@_command_config
@selectors
def export(
    place: str, how: str, file: Path | None, command_config: Path | None, **options: object
) -> None:
    """Write the ACLs of PLACE as text, sorted."""
    owned = _selector(options)
    _check_used(command_config, place)
    try:
        found = sorted(each for each in read(Place(place, command_config)) if owned.selects(each))
        text = write(found, Format(how))
    except SourceError as error:
        fail(error.problems)
    except FormatError as error:
        fail([error])
    # CSV brings its own ends of lines.
    data = text.encode()
    if file is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        return
    try:
        write_whole(file, data)
    except OSError as error:
        fail([f"{file}: {error.strerror}"])
    say(f"{len(found)} ACLs written to {file}")


@click.command(
    epilog=f"""{_PLACES}
\b
{_PLAN_STATUSES.replace("would change, or", "differs, or").replace("nothing would change", "equal")}

\b
Examples:
  doorkeeper acls diff kafka://staging:9092 kafka://production:9092
  doorkeeper acls diff acls.yaml kafka://localhost:9092 --command-config admin.properties
"""
)
@click.argument("left", shell_complete=completed)
@click.argument("right", shell_complete=completed)
@_command_config
@click.option(
    "--right-command-config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The same for RIGHT, where it differs.",
)
@output_option
@selectors
def diff(
    left: str,
    right: str,
    command_config: Path | None,
    right_command_config: Path | None,
    output: str,
    **options: object,
) -> None:
    """Show what LEFT lacks (+) and has beyond (-) RIGHT."""
    if left == right == STDIN:
        raise click.UsageError("standard input can be read once")
    _check_used(command_config, left, right)
    _check_used(right_command_config, right, option="--right-command-config")
    owned = _selector(options)
    try:
        one = [each for each in read(Place(left, command_config)) if owned.selects(each)]
        place = Place(right, right_command_config or command_config)
        other = [each for each in read(place) if owned.selects(each)]
    except SourceError as error:
        fail(error.problems)
    show_plan(found := planned(one, other), output)
    raise SystemExit(CHANGES if found else 0)


@click.command(
    epilog=f"""{_PLACES}
\b
{_PLAN_STATUSES}

\b
Examples:
  doorkeeper acls plan acls.yaml kafka://localhost:9092
  doorkeeper acls plan team.csv kafka://localhost:9092 --own-prefix team- --out team.plan
"""
)
@click.argument("wanted", shell_complete=completed)
@click.argument("place", shell_complete=completed)
@_command_config
@_removals_max
@output_option
@click.option("--out", "file", metavar="FILE", type=click.Path(path_type=Path), help="Keep it.")
@selectors
def plan(
    wanted: str,
    place: str,
    command_config: Path | None,
    removals_max: int,
    output: str,
    file: Path | None,
    **options: object,
) -> None:
    """Show what must change at PLACE so that it has the ACLs WANTED."""
    if wanted == place == STDIN:
        raise click.UsageError("standard input can be read once")
    _check_used(command_config, wanted, place)
    try:
        goal = read(Place(wanted, command_config))
        present = read(Place(place, command_config))
        found = planned(present, goal, _selector(options), removals_max=removals_max)
        if file is not None:
            write_whole(file, acl_plans.text_of(found, place_of(place)).encode())
    except SourceError as error:
        fail(error.problems)
    except PlanError as error:
        fail_as_unplanned(error)
    except OSError as error:
        fail([f"{file}: {error.strerror}"])
    show_plan(found, output)
    if file is not None:
        say(f"the plan is written to {file}")
    raise SystemExit(CHANGES if found else 0)


@click.command(
    epilog=f"""
WANTED is a set of ACLs, or with --plan a plan that was kept: then nothing but its items is done,
whatever else has changed, and only at the place that it was made for. What is interrupted says how
much of it is done; the same command does what is left.
{_PLACES}
\b
{_STATUSES}

\b
Examples:
  doorkeeper acls apply acls.yaml kafka://localhost:9092 --dry-run
  doorkeeper acls apply team.plan kafka://localhost:9092 --plan --yes
"""
)
@click.argument("wanted", shell_complete=completed)
@click.argument("place", shell_complete=completed)
@click.option("--plan", "is_plan", is_flag=True, help="WANTED is a plan.")
@click.option("--other-place", is_flag=True, help="The plan may have been made for another place.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and end.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_command_config
@_removals_max
@selectors
def apply(
    wanted: str,
    place: str,
    *,
    is_plan: bool,
    other_place: bool,
    dry_run: bool,
    yes: bool,
    command_config: Path | None,
    removals_max: int,
    **options: object,
) -> None:
    """Change PLACE so that it has the ACLs WANTED, after a question."""
    owned = _selector(options)
    where = _changed_place(place, command_config)
    _check_used(command_config, wanted, place)
    if is_plan:
        kept = _kept(wanted, owned, None if other_place else place_of(place))
        made = partial(_left_within, kept, removals_max)
    else:
        goal = _given(wanted, command_config)
        made = partial(planned, wanted=goal, owned=owned, removals_max=removals_max)
    carry_out(where, made, dry_run=dry_run, asks=not yes)


@click.command(
    name="import",
    epilog=f"""{_PLACES}
\b
{_STATUSES}

\b
Examples:
  doorkeeper acls import acls.csv kafka://localhost:9092
  doorkeeper acls import dump.json config:server.properties --dry-run
""",
)
@click.argument("wanted", shell_complete=completed)
@click.argument("place", shell_complete=completed)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and end.")
@_command_config
def import_acls(wanted: str, place: str, *, dry_run: bool, command_config: Path | None) -> None:
    """Add the ACLs of WANTED to those of PLACE; none is removed."""
    where = _changed_place(place, command_config)
    _check_used(command_config, wanted, place)
    given = _given(wanted, command_config)

    def made(present: list[AclBinding]) -> Plan:
        return planned(present, {*present, *given})

    carry_out(where, made, dry_run=dry_run, asks=False)


def _left_within(kept: Plan, removals_max: int, present: list[AclBinding]) -> Plan:
    return within(left_of(kept, present), removals_max)


def left_of(kept: Plan, present: list[AclBinding]) -> Plan:
    """Return what of a plan is still to do."""
    there = set(present)
    added = tuple(each for each in kept.added if each not in there)
    removed = tuple(each for each in kept.removed if each in there)
    return kept._replace(added=added, removed=removed, kept=len(kept.added) - len(added))


def _given(wanted: str, command_config: Path | None) -> list[AclBinding]:
    try:
        return read(Place(wanted, command_config))
    except SourceError as error:
        fail(error.problems)


def _kept(wanted: str, owned: Selector, place: str | None) -> Plan:
    """Return a plan that was kept for a place; None for any."""
    if owned != Selector():
        raise click.UsageError("a plan says itself what is touched: no --own-... with --plan")
    try:
        text = sys.stdin.read() if wanted == STDIN else Path(wanted).read_text("utf-8")
        kept, made_for = acl_plans.plan_of(text)
    except (FormatError, UnicodeDecodeError) as error:
        fail([f"{wanted}: {error}"])
    except OSError as error:
        fail([f"{wanted}: {error.strerror}"])
    if None not in (made_for, place) and made_for != place:
        raise click.UsageError(
            f"{wanted} was planned for {made_for}, not for {place}; --other-place applies it all"
            " the same"
        )
    return kept


def _check_used(
    command_config: Path | None, *places: str, option: str = "--command-config"
) -> None:
    """Refuse how to reach servers where there are none."""
    if command_config is not None and not any(Place(each).is_live for each in places):
        raise click.UsageError(f"{option} needs a server: kafka://... or controllers://...")


def _changed_place(word: str, command_config: Path | None) -> Place:
    place = Place(word, command_config)
    if not place.is_changed:
        raise click.UsageError(
            f"{word} is a file; ACLs are changed at kafka://..., controllers://... or config:..."
        )
    return place
