"""``doorkeeper acls diff``, ``plan``, ``apply`` and ``import``: whole sets of ACLs, compared.

A plan is shown before it is applied. ACLs that are not owned are never changed.
"""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from doorkeeper.acls.entities.plan import NO_ENTITIES
from doorkeeper.acls.plan import (
    EVERYTHING,
    NotOwned,
    Selector,
    plan_additions,
    with_topic_prefix,
)
from doorkeeper.acls.plan import plan as plan_changes
from doorkeeper.cli.acls import plans as acl_plans
from doorkeeper.cli.acls.addresses import (
    ADDRESSES,
    Location,
    location_options,
    past_moment,
    read_contents,
    refuse_file,
    refuse_stdin_twice,
    take_location,
    take_wanted,
)
from doorkeeper.cli.acls.change_rules import Acceptance, accept_option, removals_max_option
from doorkeeper.cli.acls.effective import effective_options, take_difference
from doorkeeper.cli.acls.entities import (
    compare,
    entity_options,
    planner_of,
    planner_of_rest,
    say_staying,
)
from doorkeeper.cli.acls.ownership import (
    owners,
    ownership_of,
    selector_of,
    selectors,
)
from doorkeeper.cli.acls.plan_files import changed_since, load_plan, rest_of
from doorkeeper.cli.acls.plan_options import (
    DIFF_STATUSES,
    PLAN_STATUSES,
    PlanReport,
    exit_with_status,
    fail_on_option,
    plan_output_option,
    show_effective,
    widening_of,
)
from doorkeeper.cli.acls.plans import apply_plan, fail_without_plan, side_of
from doorkeeper.cli.acls.questions import take_changes
from doorkeeper.cli.acls.rules import read_rules
from doorkeeper.cli.addresses import ADDRESS
from doorkeeper.cli.completion import files
from doorkeeper.cli.json_records.sets import Applied
from doorkeeper.cli.options import CHANGE_STATUSES, PATH, PROPERTIES_FILE, STATUSES, utf8
from doorkeeper.cli.vocabulary.commands import Command
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.options import named_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.acls.entities.model import EntitySet
    from doorkeeper.acls.entities.plan import EntityPlan
    from doorkeeper.acls.live_changes import Rule
    from doorkeeper.base.properties import PropertiesFile
    from doorkeeper.cli.repositories.addresses import Address
    from doorkeeper.cli.repositories.repository import AclContents
    from doorkeeper.server.state.history.moments import Moment

_dry_run = named_option("--dry-run", is_flag=True)


@click.command(
    cls=Command,
    epilog=f"""{ADDRESSES}{DIFF_STATUSES}
\b
Examples:
  doorkeeper acls diff kafka://staging:9092 kafka://production:9092
  doorkeeper acls diff acls.yaml kafka://localhost:9092 --command-config admin.properties
  doorkeeper acls diff config:server.properties --left-at '2 days ago'
  doorkeeper acls diff store:data --left-at 1042 --right-at 1050
  doorkeeper acls diff before.yaml after.yaml --effective
  doorkeeper acls diff acls.yaml --without 'User:bob,TOPIC,LITERAL,*,ALL,ALLOW,*' --effective
""",
)
@click.argument("left", type=ADDRESS)
@named_option("--left-at", "since", type=past_moment)
@named_option("--right-at", "until", type=past_moment, default_text="now")
@named_option("--left-topic-prefix", default="", type=utf8)
@named_option("--with", "added", multiple=True, shell_complete=files)
@named_option("--without", "removed", multiple=True, shell_complete=files)
@named_option(
    "--right-command-config", type=PROPERTIES_FILE, default_text="those of --command-config"
)
@plan_output_option
@effective_options
@fail_on_option("removal", "widening")
@selectors
@location_options("[RIGHT]")
def diff(
    left: Address,
    since: Moment | None,
    until: Moment | None,
    left_topic_prefix: str,
    added: tuple[str, ...],
    removed: tuple[str, ...],
    right_command_config: PropertiesFile | None,
    output: str,
    *,
    effective: bool,
    **options: Any,
) -> None:
    """Show the ACLs that only RIGHT has (+) and that only LEFT has (-).

    --with and --without first change RIGHT. If RIGHT is omitted, a changed copy of LEFT takes its
    place. With --effective, show the decisions that change from LEFT to RIGHT: allowed (+) and
    denied (-).
    """
    owned = selector_of(options)
    location = _take_right(options, left, since, until, is_changed=bool(added or removed))
    overrides = location.overrides if location.address == left else ()
    other = Location(left, location.command_config, overrides, at=since)
    refuse_stdin_twice(left, location.address)
    if right_command_config is not None:
        if not location.address.is_live:
            raise click.UsageError("--right-command-config requires a live cluster as RIGHT")
        location = replace(location, command_config=right_command_config)
    left_contents, right_contents = read_contents(other), read_contents(location)
    right_contents = _changed(right_contents, added, removed)
    # Without ownership, which both sides have been reduced to: a plan refuses a wanted ACL that is
    # not owned, a comparison just ignores it.
    before = with_topic_prefix(left_contents.bindings, left_topic_prefix)
    present = [binding for binding in before if owned.selects(binding)]
    desired = [binding for binding in right_contents.bindings if owned.selects(binding)]
    changes = plan_changes(present, desired)
    entities = _differing_entities(
        other, location, left_contents.entities or right_contents.entities, owned
    )
    failures = options["failures"]
    decisions = take_difference(
        options,
        left_contents,
        right_contents,
        (present, desired),
        is_needed=effective or "widening" in failures,
    )
    sides = side_of(other, left_contents), side_of(location, right_contents)
    report = PlanReport(
        changes,
        sides,
        acl_plans.difference(changes, entities, *sides),
        acl_plans.examined(changes, entities, *sides),
        entities,
        widening=widening_of(decisions, failures),
    )
    if effective and decisions is not None:
        report = replace(report, entities=NO_ENTITIES)
        show_effective(decisions, *sides, report.examined, output)
        exit_with_status(report, failures, changes=bool(decisions.changes))
    report.show(output)
    exit_with_status(report, failures)


def _changed(contents: AclContents, added: Sequence[str], removed: Sequence[str]) -> AclContents:
    """Return contents without some ACLs and with others, which are rows or files."""
    new, old = take_changes(added, removed, contents.bindings)
    removed_acls = set(old)
    rest = [binding for binding in contents.bindings if binding not in removed_acls]
    return replace(contents, bindings=list(dict.fromkeys([*rest, *new])))


def _take_right(
    options: dict[str, Any],
    left: Address,
    since: Moment | None,
    until: Moment | None,
    *,
    is_changed: bool,
) -> Location:
    """Return the location of RIGHT; without one, LEFT is compared with a change or its past."""
    options["at"] = until
    if options["address"] is None:
        if since is None and not is_changed:
            raise click.UsageError(
                "RIGHT is missing; to compare LEFT with its own past, give --left-at MOMENT, and"
                " --right-at MOMENT to compare with a moment other than now"
            )
        options["address"] = left
    return take_location(options, left)


def _differing_entities(
    left: Location, right: Location, of_files: EntitySet, owned: Selector
) -> EntityPlan:
    # --own-... selects ACLs.
    if not of_files or owned != EVERYTHING:
        return NO_ENTITIES
    return asyncio.run(compare(left, right, of_files))


@click.command(
    cls=Command,
    epilog=f"""{ADDRESSES}{PLAN_STATUSES}
\b
Examples:
  doorkeeper acls plan acls.yaml kafka://localhost:9092 --whole
  doorkeeper acls plan teams/ kafka://localhost:9092 --output markdown --fail-on widening
  doorkeeper acls plan teams/ kafka://localhost:9092 --fail-on unowned --assert rules.yaml
  doorkeeper acls plan teams/ kafka://localhost:9092 --effective
  doorkeeper acls plan team.csv kafka://localhost:9092 --own-prefix team- --out team.plan
""",
)
@removals_max_option
@accept_option()
@plan_output_option
@effective_options
@fail_on_option("removal", "widening", "unowned")
@named_option("--assert", "rules", type=PATH)
@named_option("--out", "out_file", type=PATH)
@entity_options
@owners
@location_options(has_wanted=True)
def plan(
    removals_max: int | None,
    accepted: frozenset[Rule],
    output: str,
    out_file: Path | None,
    rules: Path | None,
    *,
    effective: bool,
    **options: Any,
) -> None:
    """Show the changes that give ADDRESS the ACLs of WANTED.

    WANTED are files and folders, or one other address. Without ownership (owns: in a file,
    --own-..., --whole) ACLs are only added.
    """
    asserted = None if rules is None else read_rules(rules)
    sources = take_wanted(options)
    location = take_location(options, *sources)
    refuse_stdin_twice(*sources, location.address)
    try:
        source = _wanted(sources, location)
        goal = read_contents(source)
        owned = ownership_of(selector_of(options), goal.owned, whole=options["whole"])
        planner = planner_of(goal.entities, removals_max, options)
        present = read_contents(location)
        changes = owned.plan_contents(present, goal.bindings)
        entities = asyncio.run(planner.plan_at(location.repository()))
    except NotOwned as error:
        fail_without_plan(error)
    sides = side_of(location, present), side_of(source, goal)
    acceptance = Acceptance(accepted, removals_max)
    verdict = asyncio.run(
        acl_plans.verdict_of(location.repository(), present, changes, entities, acceptance)
    )
    rest = set(present.bindings).difference(changes.removed)
    failures = options["failures"]
    compares = effective or "widening" in failures
    unowned = tuple(sorted(rest.difference(goal.bindings))) if "unowned" in failures else None
    states = take_difference(
        options,
        present,
        goal,
        (present.bindings, rest.union(changes.added)),
        is_needed=compares or asserted is not None,
    )
    decisions = states if compares else None
    report = PlanReport(
        changes,
        sides,
        acl_plans.summary(changes, entities, sides),
        acl_plans.examined(changes, entities, *sides, owned=len(goal.entities.owned)),
        entities,
        unowned,
        effective=decisions if effective else None,
        widening=widening_of(decisions, failures),
        rules=asserted.check(states.after, states.before) if states and asserted else None,
        policy=states.policies[1] if states is not None else None,
        refused=verdict.held,
    )
    if out_file is not None:
        # Before it is shown: a reader of the output may close the pipe, and the file must exist.
        report.write(out_file)
    report.show(output)
    say_staying(entities, (*rest, *changes.added))
    exit_with_status(report, failures)


@click.command(
    cls=Command,
    epilog=f"""
With --plan, WANTED is a plan file. Exactly its changes are made, and only at the address and on the
cluster that it was made for. It needs the same --accept as without --plan. After an interruption
the same command makes the remaining changes. The plan of a store is refused if its ACLs were
changed by others since; a Kafka cluster has no history to tell.
{ADDRESSES}{CHANGE_STATUSES}
\b
Examples:
  doorkeeper acls apply acls.yaml kafka://localhost:9092 --dry-run
  doorkeeper acls apply team.plan kafka://localhost:9092 --plan --yes
""",
)
@named_option("--plan", "is_plan", is_flag=True)
@named_option("--other-address", is_flag=True)
@_dry_run
@named_option("--yes", is_flag=True)
@removals_max_option
@accept_option()
@entity_options
@owners
@json_output(Applied)
@location_options(has_wanted=True)
def apply(
    output: str,
    *,
    is_plan: bool,
    other_address: bool,
    dry_run: bool,
    yes: bool,
    removals_max: int | None,
    accepted: frozenset[Rule],
    **options: Any,
) -> None:
    """Give ADDRESS the ACLs of WANTED; asks for confirmation.

    WANTED are files and folders, or one other address. Without ownership (owns: in a file,
    --own-..., --whole) ACLs are only added.
    """
    selector, whole = selector_of(options), options["whole"]
    sources = take_wanted(options)
    location = take_location(options, *sources)
    refuse_file(location.address)
    if is_plan:
        if whole or selector != EVERYTHING:
            raise click.UsageError(
                "--plan cannot be combined with --own-... or --whole: a plan lists the ACLs that"
                " it changes"
            )
        if options["delete_topics"] or options["new_passwords"]:
            raise click.UsageError(
                "--plan cannot be combined with --delete-topics or --new-password: give them to"
                " acls plan"
            )
        if len(sources) > 1:
            raise click.UsageError("--plan takes one plan file")
        saved = load_plan(sources[0], None if other_address else location.canonical())
        if other_address:
            saved = replace(saved, revision=None, cluster_id=None)
        changed = changed_since(saved, location)
        make_plan = partial(rest_of, saved, changed, is_live=location.address.is_live)
        planner = planner_of_rest(saved.entities, removals_max)
        owned_acls = saved.plan.unchanged + len(saved.plan.removed)
        acceptance = Acceptance(accepted, removals_max, owned=owned_acls, refused=saved.refused)
        cluster_id = saved.cluster_id
    else:
        goal = read_contents(_wanted(sources, location))
        owned = ownership_of(selector, goal.owned, whole=whole)
        make_plan = partial(owned.plan_contents, desired=goal.bindings)
        planner = planner_of(goal.entities, removals_max, options)
        acceptance = Acceptance(accepted, removals_max)
        cluster_id = None
    apply_plan(
        location.repository(),
        make_plan,
        acceptance,
        planner=planner,
        dry_run=dry_run,
        asks=not yes,
        output=output,
        cluster_id=cluster_id,
    )


@click.command(
    cls=Command,
    name="import",
    epilog=f"""{ADDRESSES}{STATUSES}
\b
Examples:
  doorkeeper acls import acls.csv kafka://localhost:9092
  doorkeeper acls import dump.json config:server.properties --dry-run
""",
)
@_dry_run
@accept_option("networks", "lock-out")
@json_output(Applied)
@location_options(has_wanted=True)
def import_acls(output: str, *, dry_run: bool, accepted: frozenset[Rule], **options: Any) -> None:
    """Add the ACLs of WANTED, files or another address, to those at ADDRESS; remove none."""
    sources = take_wanted(options)
    location = take_location(options, *sources)
    refuse_file(location.address)
    goal = read_contents(_wanted(sources, location))
    additions = partial(plan_additions, desired=goal.bindings)
    # Without owners: what is there stays as it is.
    planner = planner_of(replace(goal.entities, owned=()), 0, {})
    apply_plan(
        location.repository(),
        lambda contents: contents.plan(additions),
        Acceptance(accepted),
        planner=planner,
        dry_run=dry_run,
        asks=False,
        output=output,
    )


def _wanted(sources: Sequence[Address], location: Location) -> Location:
    first, *others = sources
    return Location(first, location.command_config, others=tuple(others), is_wanted=True)
