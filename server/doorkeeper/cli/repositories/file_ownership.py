"""Ownership between files: no two own the same ACL, and each has only ACLs that it may have."""

from __future__ import annotations

from itertools import chain, combinations, islice
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from doorkeeper.acls.formats.acl_set import AclSet
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.plan import Selector

_PROBLEMS_MAX: Final = 20


class AclFile(Struct, frozen=True):
    """A file and its contents."""

    name: str
    contents: AclSet

    def place(self, line: int) -> str:
        """Return the file and a line as text."""
        return f"{self.name} line {line}" if line else self.name


def ownership_problems(files: Sequence[AclFile]) -> list[str]:
    """Return the violations of ownership, a line each; only the first twenty."""
    # Each line of a text costs parsing it anew.
    problems = chain(
        _overlaps(files),
        _foreign_bindings(files),
        _entity_overlaps(files),
        _foreign_entities(files),
        _duplicate_entities(files),
    )
    # A role has several bindings, which may all have the same problem.
    found = list(islice(_each_once(problems), _PROBLEMS_MAX + 1))
    return [*found[:_PROBLEMS_MAX], "and more"] if len(found) > _PROBLEMS_MAX else found


def _each_once(problems: Iterable[str]) -> Iterator[str]:
    seen = set()
    for problem in problems:
        if problem not in seen:
            seen.add(problem)
            yield problem


def _overlaps(files: Sequence[AclFile]) -> Iterator[str]:
    for one, other in combinations([each for each in files if each.contents.owned], 2):
        for left in one.contents.owned:
            for right in other.contents.owned:
                both = left.selector.overlap(right.selector)
                if both is not None:
                    left_place = one.place(one.contents.line_of(left.path))
                    right_place = other.place(other.contents.line_of(right.path))
                    yield f"{left_place} and {right_place} both own {_words(both)}"


def _foreign_bindings(files: Sequence[AclFile]) -> Iterator[str]:
    owners = [each for each in files if each.contents.owned]
    for file in files:
        for index, binding in enumerate(file.contents.bindings) if owners else ():
            if any(each.selector.selects(binding) for each in file.contents.owned):
                continue
            # With owns: a file has nothing else, so that a typing error in a name is found.
            if file.contents.owned:
                line = file.contents.line_of(file.contents.owned[0].path)
                place = file.place(file.contents.line_of_binding(index))
                yield f"{place}: not owned: {_binding_words(binding)}; owns: is in line {line}"
                continue
            # The next plan of the owner alone would remove it.
            for owner in owners:
                for part in owner.contents.owned:
                    if part.selector.selects(binding):
                        place = file.place(file.contents.line_of_binding(index))
                        owners_place = owner.place(owner.contents.line_of(part.path))
                        yield f"{place}: {_binding_words(binding)} is owned by {owners_place}"


def _entity_overlaps(files: Sequence[AclFile]) -> Iterator[str]:
    for one, other in combinations([each for each in files if each.contents.entities.owned], 2):
        for left in one.contents.entities.owned:
            for right in other.contents.entities.owned:
                if left.overlaps(right):
                    narrow = left if right.owns(left.entity) else right
                    left_place = one.place(one.contents.line_of(left.path))
                    right_place = other.place(other.contents.line_of(right.path))
                    yield f"{left_place} and {right_place} both own {narrow}"


def _foreign_entities(files: Sequence[AclFile]) -> Iterator[str]:
    """Yield the entities of another owner, and those that a file with owners does not own."""
    for file in files:
        contents = file.contents.entities
        for entity, path in zip(contents.entities, contents.paths, strict=True):
            if contents.owns(entity.owner_name):
                continue
            place = file.place(file.contents.line_of(path))
            if contents.owns_kind(type(entity)):
                yield f"{place}: not owned: {entity.owner_name}"
            for other in files:
                for part in other.contents.entities.owned:
                    if other is not file and part.owns(entity.owner_name):
                        owners_place = other.place(other.contents.line_of(part.path))
                        yield f"{place}: {entity.owner_name} is owned by {owners_place}"


def _duplicate_entities(files: Sequence[AclFile]) -> Iterator[str]:
    seen: dict[object, str] = {}
    for file in files:
        contents = file.contents.entities
        for entity, path in zip(contents.entities, contents.paths, strict=True):
            key = (type(entity), entity.key)
            if key in seen:
                place = file.place(file.contents.line_of(path))
                yield f"{place}: {entity.owner_name} stands in {seen[key]} too"
            # A line costs parsing the file anew.
            seen[key] = file.name


def _words(part: Selector) -> str:
    """Return a part of all ACLs in words."""
    types = ", ".join(sorted(each.name for each in part.resource_types))
    prefixes = ", ".join(map(repr, part.prefixes))
    principals = ", ".join(sorted(part.principals))
    return (
        f"the ACLs of {types or 'all resource types'}"
        f" with {f'names that begin with {prefixes}' if prefixes else 'any name'}"
        f" for {principals or 'any principal'}"
    )


def _binding_words(binding: AclBinding) -> str:
    (resource_type, name, _), entry = binding
    return f"{resource_type.name} {name!r} for {entry.principal}"
