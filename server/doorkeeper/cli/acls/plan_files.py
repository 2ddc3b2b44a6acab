"""Plans in files, and what is left to do of one.

A file is JSON: a version, the address that the plan was made for (``place``), the revision of its
store, the same two of the set that is wanted, the id of the cluster, what the rules refused
(``refused``), and the records of ``acl.formats.records``. Changes of topics, users and quotas are
in sections of their own: ``entities``.

A plan is applied to the cluster that it was made for, and only where nobody else has changed its
ACLs since, as far as that is known: a store has a history, a cluster of Kafka has none.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, cast

import click
from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.acls.entities.plan import NO_ENTITIES, EntityPlan
from doorkeeper.acls.formats.documents import document_of
from doorkeeper.acls.formats.names import FormatError, wrong
from doorkeeper.acls.formats.records import VERSION, from_document
from doorkeeper.acls.live_changes import OVERRIDES, Held, Rule
from doorkeeper.acls.plan import Plan
from doorkeeper.cli.acls.entities import take_plan
from doorkeeper.cli.acls.plans import Side, examined, record
from doorkeeper.cli.acls.printing import row
from doorkeeper.cli.files import read_text
from doorkeeper.cli.repositories.errors import RepositoryError
from doorkeeper.cli.stores import open_history
from doorkeeper.cli.terminal import NOTHING_CHANGED, fail, say
from doorkeeper.server.state.history.moments import Moment
from doorkeeper.server.state.history.reading import revision_at
from doorkeeper.server.state.history.undoing import changed_acls

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.cli.acls.addresses import Location
    from doorkeeper.cli.json_records.sets import Plan as PlanRecord
    from doorkeeper.cli.repositories.addresses import Address
    from doorkeeper.cli.repositories.repository import AclContents


class SavedPlan(Struct, frozen=True):
    """The plan of a file, its address, its cluster and the revision of its store.

    Each is None where the file has none. ``refused`` is what the rules held back of it.
    """

    plan: Plan
    address: str | None
    revision: int | None
    entities: EntityPlan = NO_ENTITIES
    cluster_id: str | None = None
    refused: tuple[Held, ...] = ()


def document_of_plan(
    plan: Plan,
    present: Side,
    goal: Side,
    entities: EntityPlan = NO_ENTITIES,
    refused: Iterable[Held] = (),
) -> PlanRecord:
    """Return the file of a plan, which makes the present side equal to the wanted one."""
    document = {
        **present.record(),
        "cluster": present.cluster_id,
        "wanted": goal.record(),
        **record(plan, entities),
        "examined": examined(plan, entities, present, goal).number,
    }
    # What no option overrides always follows from something that one does.
    overridable = [hold for hold in refused if hold.rule in OVERRIDES]
    rows = [{"rule": hold.rule.value, "reason": hold.reason} for hold in overridable]
    if rows:
        document["refused"] = rows
    return cast("PlanRecord", document)


def plan_of(text: str) -> SavedPlan:
    """Return the plan of a file.

    Raises:
        FormatError: the text is not a plan.
    """
    # Editors on Windows begin a file with a byte order mark.
    document = document_of(text.removeprefix("\ufeff"))
    if not isinstance(document, dict) or document.get("version") != VERSION:
        unexpected = document.get("version") if isinstance(document, dict) else document
        raise wrong(unexpected, f"a plan: a mapping with version {VERSION}")
    address, revision = document.pop("place", None), document.pop("revision", None)
    cluster_id, refused = document.pop("cluster", None), _refused(document.pop("refused", []))
    # The origin of the plan and the decisions that it changes are for readers: it is applied
    # without them.
    for word in ("wanted", "examined", "unowned", "rules", "effective", "policies", "policy"):
        document.pop(word, None)
    entities = take_plan(document)
    if document.keys() != {"version", "added", "removed", "kept", "foreign"}:
        raise wrong([*document], "version, place, revision, wanted, added, removed, kept, foreign")
    for word, value in (("place", address), ("cluster", cluster_id)):
        if not isinstance(value, (str, NoneType)):
            raise wrong(value, "a string", word)
    if not isinstance(revision, (int, NoneType)):
        raise wrong(revision, "a whole number", "revision")
    added, removed = _acls(document, "added"), _acls(document, "removed")
    # Applied in any order, such a plan would contradict itself.
    both = sorted(set(added) & set(removed))
    if both:
        raise FormatError(f"added and removed both contain {row(both[0])}")
    unchanged, foreign = document["kept"], document["foreign"]
    if not isinstance(unchanged, int) or not isinstance(foreign, int):
        raise wrong((unchanged, foreign), "whole numbers", "kept, foreign")
    plan = Plan(added, removed, unchanged, foreign)
    return SavedPlan(plan, address, revision, entities, cluster_id, refused)


def _acls(document: dict[str, Any], part: str) -> tuple[AclBinding, ...]:
    try:
        return tuple(from_document({"version": 1, "acls": document[part]}))
    except FormatError as error:
        raise FormatError(f"{part}: {error}") from None


def _refused(rows: object) -> tuple[Held, ...]:
    try:
        # mypy does not see that what is not a list of mappings raises one of these.
        return tuple(
            Held(Rule(row["rule"]), frozenset(), str(row["reason"]))
            for row in rows  # type: ignore[attr-defined]
        )
    except (TypeError, KeyError, ValueError):
        raise FormatError("refused: expected a list of mappings with rule and reason") from None


def load_plan(source: Address, address: str | None) -> SavedPlan:
    """Return the plan in a file if it was made for this address; None accepts any."""
    name = str(source)
    try:
        saved = plan_of(sys.stdin.read() if source.is_stdin else read_text(Path(name)))
    except FormatError as error:
        fail([f"{name}: {error}"])
    # A plan that was written by hand may have no address; it fits any.
    if None not in (saved.address, address) and saved.address != address:
        raise click.UsageError(
            f"{name} was made for {saved.address}, not for {address}; to apply it anyway, add"
            " --other-address"
        )
    return saved


def changed_since(saved: SavedPlan, location: Location) -> frozenset[AclBinding]:
    """Return the ACLs that a store's history has changes of since a plan was made for it.

    Nothing where no history is known: the location is a cluster, or the plan has no revision.

    Raises:
        StorageError: the history does not go back to the plan, or is behind it.
    """
    revision = saved.revision
    if revision is None or not location.address.is_store:
        return frozenset()

    async def read() -> frozenset[AclBinding]:
        async with open_history(location.address, location.overrides) as store:
            await revision_at(store, Moment(revision, None))
            return await changed_acls(store, revision)

    return asyncio.run(read())


def rest_of(
    saved: SavedPlan, changed: frozenset[AclBinding], contents: AclContents, *, is_live: bool
) -> Plan:
    """Return the changes of a plan that are still to make, after a note if some are not.

    ``changed`` are the ACLs that a history has changes of since. Of a live cluster all removals are
    still to make: the brokers that were asked may lag, and not list what is there.

    Raises:
        RepositoryError: somebody took back changes of the plan, or made and took back others.
    """
    # Others may have made some of the changes since, or an earlier apply was interrupted.
    plan, present = saved.plan, frozenset(contents.bindings)
    existing = present.difference(contents.doubtful)
    added = tuple(binding for binding in plan.added if binding not in existing)
    listed = tuple(binding for binding in plan.removed if binding in present)
    removed = plan.removed if is_live else listed
    stale = sorted(changed.intersection((*added, *removed)))
    if stale:
        more = f" and {len(stale) - 1} more" if len(stale) > 1 else ""
        raise RepositoryError(
            f"changed by others since the plan was made, at revision {saved.revision}:"
            f" {row(stale[0])}{more}; make a new plan",
            NOTHING_CHANGED,
        )
    unchanged, absent = len(plan.added) - len(added), len(plan.removed) - len(listed)
    if unchanged or absent:
        say(
            "note: the ACLs are not as the plan found them: of those to add,"
            f" {unchanged} of {len(plan.added)} exist, and of those to remove, {absent} of"
            f" {len(plan.removed)} {'are not listed' if is_live else 'do not'}"
        )
    return replace(plan, added=added, removed=removed, unchanged=unchanged)
