"""Plans: printed and applied. ``plan_files`` keeps them in files.

+ User:alice,TOPIC,LITERAL,orders,READ,ALLOW,*
- User:bob,TOPIC,PREFIXED,team-,ALL,ALLOW,*
Plan for kafka://b:9092, as in acls.yaml: 1 to add, 1 to remove; 14 unchanged; 3 not owned.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, cast

from msgspec import Struct

from doorkeeper.acls.entities.plan import NO_ENTITIES, EntityPlan
from doorkeeper.acls.formats.records import record_of_changes
from doorkeeper.acls.live_changes import LiveCluster
from doorkeeper.acls.plan import NotOwned, Plan
from doorkeeper.acls.plan_application import Rules, apply
from doorkeeper.acls.validation import check_binding
from doorkeeper.cli.acls.addresses import report_unknown
from doorkeeper.cli.acls.change_rules import (
    MISSING_AUTHORIZER,
    Acceptance,
    Verdict,
    is_disabled,
    judge,
)
from doorkeeper.cli.acls.entities import (
    NO_PLANNER,
    EntityPlanner,
    alter,
    line_of,
    passwords_of,
    phases_of,
    record_of_plan,
    say_staying,
    summary_of,
)
from doorkeeper.cli.acls.printing import row
from doorkeeper.cli.inspection import Examined
from doorkeeper.cli.interrupts import end_interrupted, require_no_question, require_yes
from doorkeeper.cli.repositories.errors import RepositoryError
from doorkeeper.cli.repositories.repository import AclContents, contents_of, live_cluster_of
from doorkeeper.cli.terminal import (
    NOTHING_CHANGED,
    fail,
    paint,
    printable,
    say,
    show,
    show_json,
)
from doorkeeper.cli.vocabulary.progress import Progress, progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import NoReturn

    from doorkeeper.acls.entities.plan import EntityChange
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.plan_application import Failed, Outcome
    from doorkeeper.base.errors import ApiError
    from doorkeeper.cli.acls.addresses import Location
    from doorkeeper.cli.json_records.sets import Applied, Changes, Failure
    from doorkeeper.cli.json_records.sets import Side as SideRecord
    from doorkeeper.cli.repositories.repository import AclRepository
    from doorkeeper.cli.repositories.sessions import ClusterSession

    RefusedChange = tuple[EntityChange, ApiError]


_HELD_BACK: Final = "not removed, because earlier changes failed"


def lines(changes: Iterable[str], summary: str) -> Iterator[str]:
    """Yield the lines of a plan, with colours on a terminal, and its numbers."""
    colours = {"+": "green", "~": "yellow", "-": "red", "!": "yellow"}
    for line in changes:
        yield paint(line, colours[line[0]])
    yield summary


def change_lines(
    plan: Plan, entities: EntityPlan = NO_ENTITIES, unowned: Iterable[AclBinding] = ()
) -> list[str]:
    """Return a line for each change: additions, then removals.

    They are followed by the ACLs that nobody owns, which are not changed.
    """
    first, quotas, removals = phases_of(entities)
    return [
        *map(line_of, first),
        *(f"+ {row(binding)}" for binding in plan.added),
        *map(line_of, quotas),
        *(f"- {row(binding)}" for binding in plan.removed),
        *map(line_of, removals),
        *(f"! {row(binding)}" for binding in unowned),
    ]


def summary(
    plan: Plan, entities: EntityPlan = NO_ENTITIES, sides: tuple[Side, Side] | None = None
) -> str:
    """Return the numbers of a plan; ``sides`` are the present and the wanted one."""
    foreign = f"; {plan.foreign} not owned" if plan.foreign else ""
    others = summary_of(entities)
    foreign += f"; {others}" if others else ""
    if not plan and not entities:
        target, source = ("", "") if sides is None else (f" for {sides[0]}", f" in {sides[1]}")
        return f"No changes{target}: {plan.unchanged} ACLs are up to date{source}{foreign}."
    target = "" if sides is None else f" for {sides[0]}, as in {sides[1]}"
    added, removed = len(plan.added), len(plan.removed)
    rest = f"{plan.unchanged} unchanged{foreign}"
    return f"Plan{target}: {added} to add, {removed} to remove; {rest}."


def difference(plan: Plan, entities: EntityPlan, left: Side, right: Side) -> str:
    """Return the numbers of a difference: the plan that makes the left side equal to the right."""
    others = summary_of(entities)
    rest = f"; {others}" if others else ""
    numbers = numbers_of_difference(plan, str(left), str(right))
    if entities:
        numbers = numbers.replace("No difference:", "Difference:", 1)
    return f"{numbers}{rest}."


def numbers_of_difference(plan: Plan, left: str, right: str) -> str:
    """Return how many ACLs are only on one side, and how many on both."""
    added, removed, common = len(plan.added), len(plan.removed), plan.unchanged
    if not plan:
        return f"No difference: {left} and {right} have the same {common} ACLs"
    return (
        f"Difference: {added} only in {right} (+), {removed} only in {left} (-); {common} in both"
    )


def examined(
    plan: Plan, entities: EntityPlan, present: Side, goal: Side, *, owned: int = 0
) -> Examined:
    """Return the number of ACLs, topics, users and quotas that were compared.

    ``owned`` counts the parts in which a file says that there is nothing but what it lists.
    """
    acls = len(plan.added) + len(plan.removed) + plan.unchanged
    others = (
        len(entities.changes) + entities.unchanged + len(entities.staying) + len(entities.foreign)
    )
    nothing = f"nothing was compared: neither {present} nor {goal} has ACLs in the selection"
    return Examined(acls + others + owned, nothing)


def say_host_notes(plan: Plan, *, networks: bool | None) -> None:
    """Print the ACLs to add whose hosts a cluster that matches networks refuses."""
    for binding in plan.added:
        if networks and (error := check_binding(binding, networks=True)) is not None:
            say(f"note: Kafka 4.4 rejects {row(binding)}: {error.message}")


def record(plan: Plan, entities: EntityPlan = NO_ENTITIES) -> Changes:
    return cast("Changes", {**record_of_changes(plan), **record_of_plan(entities)})


class Side(Struct, frozen=True):
    """One of two sets of ACLs: its address, and the revision of its store, None without one.

    ``name`` is the address as it was given. ``cluster_id`` is None if it is not known.
    """

    address: str
    revision: int | None
    name: str
    cluster_id: str | None = None

    def __str__(self) -> str:
        text = printable(self.name)
        return text if self.revision is None else f"revision {self.revision} of {text}"

    def record(self) -> SideRecord:
        return {"place": self.address, "revision": self.revision}


def side_of(location: Location, contents: AclContents) -> Side:
    return Side(location.canonical(), contents.revision, location.name, contents.cluster_id)


def apply_plan(
    repository: AclRepository,
    make_plan: Callable[[AclContents], Plan],
    acceptance: Acceptance,
    *,
    dry_run: bool,
    asks: bool,
    output: str = "text",
    planner: EntityPlanner = NO_PLANNER,
    cluster_id: str | None = None,
) -> None:
    """Plan with the present ACLs, show the plan, and apply it.

    With ``output`` json, what was planned and made is printed afterwards, as one object.

    ``planner`` plans the topics, users and quotas beside them. What the rules refuse changes
    nothing, except for what ``acceptance`` accepts. With ``cluster_id`` the repository must be of
    that cluster.

    An error ends the process; the message says how many changes were made, because the same
    command makes the remaining ones.
    """
    require_no_question(output, asks=asks and not dry_run)
    application = _Application()
    shows = output != "json"

    async def apply_() -> tuple[Plan, EntityPlan]:
        if dry_run:
            with progress(f"reading {repository.address}"):
                contents = await repository.read()
            _require_cluster(repository, cluster_id, contents.cluster_id)
            report_unknown(contents)
            entities = await planner.plan_at(repository)
            plan = _new_plan(make_plan, contents, entities, shows=shows)
            (await verdict_of(repository, contents, plan, entities, acceptance)).require()
            return plan, entities
        # The session stays open during the question: in an embedded store no server starts
        # meanwhile, so that the plan that was shown is the plan that is applied.
        async with repository.change(create=True) as session:
            if cluster_id is not None:
                _require_cluster(repository, cluster_id, await session.cluster_id())
            with progress(f"reading {repository.address}"):
                contents = contents_of(await session.listing())
            report_unknown(contents)
            entities = await planner.plan(session)
            plan = _new_plan(make_plan, contents, entities, shows=shows)
            if not plan and not entities:
                return plan, entities
            verdict = await _verdict_in(session, contents, plan, entities, acceptance)
            verdict.require()
            # Before the question: a missing password is no reason to end halfway.
            passwords = passwords_of(entities)
            if asks:
                require_yes("Apply this plan?")
            with progress("applying") as shown:
                application.start(plan, entities, shown)
                present = _present(contents, plan)
                await application.run(session, present, verdict.rules, passwords)
            return plan, entities

    try:
        plan, entities = asyncio.run(apply_())
    except RepositoryError as error:
        fail([*error.problems, *application.lines(), *application.refusals()])
    except NotOwned as error:
        fail_without_plan(error)
    except KeyboardInterrupt:
        application.end_interrupted()
    if not shows:
        show_json(record_of(plan, entities, application, dry_run=dry_run))
    application.report()


def _require_cluster(repository: AclRepository, expected: str | None, actual: str | None) -> None:
    """Refuse another cluster than that of a saved plan; None as ``expected`` permits any.

    An address may lead to another cluster than when the plan was made.

    Raises:
        RepositoryError: it is another one.
    """
    if expected is not None and actual != expected:
        raise RepositoryError(
            f"{repository.address}: found cluster {actual or '(unknown)'}; the plan was made for"
            f" cluster {expected}; to apply it anyway, add --other-address",
            NOTHING_CHANGED,
        )


def record_of(
    plan: Plan,
    entities: EntityPlan = NO_ENTITIES,
    application: _Application | None = None,
    *,
    dry_run: bool,
) -> Applied:
    """Return for JSON what was planned, and what was made of it."""
    return {
        **record(plan, entities),
        "dryRun": dry_run,
        "made": 0 if application is None else application.made,
        "failed": [] if application is None else [*application.failures()],
    }


async def verdict_of(
    repository: AclRepository,
    contents: AclContents,
    plan: Plan,
    entities: EntityPlan,
    acceptance: Acceptance,
) -> Verdict:
    """Return what the rules say of a plan for a repository, after notes on stderr.

    Raises:
        RepositoryError: it cannot be asked.
    """
    if repository.address.is_live:
        async with repository.change() as session:
            return await _verdict_in(session, contents, plan, entities, acceptance)
    if not repository.address.is_store:
        return Verdict(Rules())
    policy = contents.policy if contents.authorizer is None else None
    cluster = live_cluster_of(networks=contents.networks, policy=policy)
    say_host_notes(plan, networks=cluster.matches_networks)
    return judge(acceptance, cluster, contents.bindings, plan, entities)


async def _verdict_in(
    session: ClusterSession,
    contents: AclContents,
    plan: Plan,
    entities: EntityPlan,
    acceptance: Acceptance,
) -> Verdict:
    present = _present(contents, plan)
    cluster = await session.live_cluster(present, plan) if plan else LiveCluster()
    scram = await session.own_credential() if entities.removals else None
    say_host_notes(plan, networks=cluster.matches_networks)
    return judge(acceptance, cluster, present, plan, entities, scram)


def _present(contents: AclContents, plan: Plan) -> frozenset[AclBinding]:
    """Return the ACLs before a plan: brokers may list what is added, and not what is removed."""
    return frozenset(contents.bindings).union(plan.removed).difference(plan.added)


def _new_plan(
    make_plan: Callable[[AclContents], Plan],
    contents: AclContents,
    entities: EntityPlan,
    *,
    shows: bool,
) -> Plan:
    plan = make_plan(contents)
    if shows:
        show(lines(change_lines(plan, entities), summary(plan, entities)))
    say_staying(entities, (*set(contents.bindings).difference(plan.removed), *plan.added))
    return plan


class _Application:
    """A plan that is applied: what was made of it so far, and what was refused or held back."""

    def __init__(self) -> None:
        self._plan, self._entities = Plan((), (), 0, 0), NO_ENTITIES
        self._made, self._whole = 0, 0
        self._refused_acls: list[Failed] = []
        self._refused_entities: list[RefusedChange] = []
        self._held_back: tuple[EntityChange, ...] = ()
        self._outcome: Outcome | None = None
        self._absent = 0
        """The number of ACLs to remove that were not there."""
        self._shown: Progress | None = None

    def start(self, plan: Plan, entities: EntityPlan, shown: Progress) -> None:
        self._plan, self._entities, self._shown = plan, entities, shown
        self._whole = len(plan.added) + len(plan.removed) + len(entities.changes)

    async def run(
        self,
        session: ClusterSession,
        present: frozenset[AclBinding],
        rules: Rules,
        passwords: Mapping[str, str],
    ) -> None:
        """Apply the plan; ``present`` are the ACLs before it.

        Raises:
            RepositoryError: it is unknown whether the last changes were made.
        """
        first, quotas, removals = phases_of(self._entities)

        async def change(changes: Sequence[EntityChange]) -> None:
            refused = await alter(session, changes, passwords)
            self._refused_entities += refused
            self._add(len(changes) - len(refused))

        await change(first)
        self._outcome = await apply(
            self._plan, session, present, rules, self._add_acls, lambda: change(quotas)
        )
        self._absent = self._outcome.removed - len(session.deleted.intersection(self._plan.removed))
        # Records and passwords do not come back, so they go last, and only if all else was done.
        if self._refused_entities or self._outcome.failed:
            self._held_back = removals
        else:
            await change(removals)

    def _add_acls(self, count: int, refused: Sequence[Failed]) -> None:
        self._refused_acls += refused
        self._add(count)

    def _add(self, count: int) -> None:
        self._made += count
        if self._shown is not None:
            done = self._made + len(self._refused_acls) + len(self._refused_entities)
            self._shown.count(done, self._whole)

    @property
    def made(self) -> int:
        """Return how many changes were made."""
        return self._made - self._absent

    def failures(self) -> Iterator[Failure]:
        """Yield what was not made, and why, for JSON."""
        for change, refusal in self._refused_entities:
            yield {"change": line_of(change), "error": str(refusal)}
        errors = {failure.binding: str(failure.error) for failure in self._refused_acls}
        for held in () if self._outcome is None else self._outcome.held:
            errors |= dict.fromkeys(sorted(held.bindings), held.reason)
        for binding, error in errors.items():
            sign = "+" if binding in self._plan.added else "-"
            yield {"change": f"{sign} {row(binding)}", "error": error}
        for change in self._held_back:
            yield {"change": line_of(change), "error": _HELD_BACK}

    def report(self) -> None:
        """Print what was made; what was not ends the process."""
        if self._outcome is None:
            return
        text = f"{self._outcome.added} added, {self._outcome.removed - self._absent} removed"
        if self._absent:
            text += f"; to remove, but not there: {self._absent}"
        if others := self._made - self._outcome.added - self._outcome.removed:
            text += f"; {others} topics, users and quotas created, changed or removed"
        say(text)
        problems = self.refusals()
        problems += [f"skipped after the failure: {held.reason}" for held in self._outcome.held]
        problems += [f"{line_of(change)}: {_HELD_BACK}" for change in self._held_back]
        if problems:
            fail(problems)

    def lines(self) -> list[str]:
        """Return how far an interrupted plan got; nothing before it was started."""
        if not self._whole:
            return []
        # The server may have made the changes of the request that got no answer.
        done = f"at least {self._made} of {self._whole} changes were made"
        return [f"{done}; run the same command again to make the rest"]

    def end_interrupted(self) -> NoReturn:
        """End the process after Ctrl-C, with what was refused and how far the plan got."""
        for line in self.refusals():
            say(line)
        end_interrupted(*(self.lines() or [NOTHING_CHANGED]))

    def refusals(self) -> list[str]:
        """Return a line for each change that was refused."""
        problems = [f"{line_of(change)}: {error}" for change, error in self._refused_entities]
        acls = self._refused_acls
        # One fault of the cluster, not one of each row.
        disabled = [failure for failure in acls if is_disabled(failure.error)]
        if disabled:
            problems.append(f"{disabled[0].error} ({len(disabled)} ACLs): {MISSING_AUTHORIZER}")
        return problems + [
            f"{'adding' if failure.added else 'removing'} {row(failure.binding)}: {failure.error}"
            for failure in acls
            if not is_disabled(failure.error)
        ]


def fail_without_plan(error: NotOwned) -> NoReturn:
    """End the process because there is no plan, with the options that permit one."""
    fail([f"{error} (--own-prefix, --own-principal, --own-type)"])
