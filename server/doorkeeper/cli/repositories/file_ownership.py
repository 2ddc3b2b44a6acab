"""Ownership between files: no two own the same ACL, and each has only ACLs that it may have."""

from __future__ import annotations

from itertools import chain, combinations, islice
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from doorkeeper.acls.plan import SelectorUnion

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from doorkeeper.acls.formats.acl_set import AclSet
    from doorkeeper.acls.formats.documents import Path
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.plan import Selector

_PROBLEMS_MAX: Final = 20


class AclFile(Struct, frozen=True):
    """A file and its contents."""

    name: str
    contents: AclSet

    def position_of(self, path: Path) -> str:
        """Return the file and the line of an object as text."""
        return self._position(self.contents.line_of(path))

    def position_of_binding(self, index: int) -> str:
        return self._position(self.contents.line_of_binding(index))

    def _position(self, line: int) -> str:
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
    distinct = list(islice(_each_once(problems), _PROBLEMS_MAX + 1))
    return [*distinct[:_PROBLEMS_MAX], "and more"] if len(distinct) > _PROBLEMS_MAX else distinct


def _each_once(problems: Iterable[str]) -> Iterator[str]:
    seen = set()
    for problem in problems:
        if problem not in seen:
            seen.add(problem)
            yield problem


def _overlaps(files: Sequence[AclFile]) -> Iterator[str]:
    for one, other in combinations([file for file in files if file.contents.owned], 2):
        for left in one.contents.owned:
            for right in other.contents.owned:
                both = left.selector.overlap(right.selector)
                if both is not None:
                    left_position = one.position_of(left.path)
                    right_position = other.position_of(right.path)
                    yield f"{left_position} and {right_position} both own {_words(both)}"


def _foreign_bindings(files: Sequence[AclFile]) -> Iterator[str]:
    owners = [file for file in files if file.contents.owned]
    owned = SelectorUnion.of(part.selector for file in owners for part in file.contents.owned)
    for file in files:
        for index, binding in enumerate(file.contents.bindings) if owners else ():
            if any(part.selector.selects(binding) for part in file.contents.owned):
                continue
            # With owns: a file has nothing else, so that a typing error in a name is found.
            if file.contents.owned:
                line = file.contents.line_of(file.contents.owned[0].path)
                position = file.position_of_binding(index)
                yield f"{position}: not owned: {_binding_words(binding)}; see owns: in line {line}"
                continue
            # The next plan of the owner alone would remove it.
            for owner in owners if owned.selects(binding) else ():
                for part in owner.contents.owned:
                    if part.selector.selects(binding):
                        position = file.position_of_binding(index)
                        owners_position = owner.position_of(part.path)
                        yield f"{position}: {_binding_words(binding)} is owned by {owners_position}"


def _entity_overlaps(files: Sequence[AclFile]) -> Iterator[str]:
    for one, other in combinations([file for file in files if file.contents.entities.owned], 2):
        for left in one.contents.entities.owned:
            for right in other.contents.entities.owned:
                if left.overlaps(right):
                    narrow = left if right.owns(left.entity) else right
                    left_position = one.position_of(left.path)
                    right_position = other.position_of(right.path)
                    yield f"{left_position} and {right_position} both own {narrow}"


def _foreign_entities(files: Sequence[AclFile]) -> Iterator[str]:
    """Yield the entities of another owner, and those that a file with owners does not own."""
    for file in files:
        contents = file.contents.entities
        for entity, path in zip(contents.entities, contents.paths, strict=True):
            if contents.owns(entity.owner_name):
                continue
            position = file.position_of(path)
            if contents.owns_kind(type(entity)):
                yield f"{position}: not owned: {entity.owner_name}"
            for other in files:
                for part in other.contents.entities.owned:
                    if other is not file and part.owns(entity.owner_name):
                        owners_position = other.position_of(part.path)
                        yield f"{position}: {entity.owner_name} is owned by {owners_position}"


def _duplicate_entities(files: Sequence[AclFile]) -> Iterator[str]:
    seen: dict[object, str] = {}
    for file in files:
        contents = file.contents.entities
        for entity, path in zip(contents.entities, contents.paths, strict=True):
            key = (type(entity), entity.key)
            if key in seen:
                position = file.position_of(path)
                yield f"{position}: {entity.owner_name} is also in {seen[key]}"
            # A line costs parsing the file anew.
            seen[key] = file.name


def _words(part: Selector) -> str:
    """Return a part of all ACLs in words."""
    types = ", ".join(sorted(kind.name for kind in part.resource_types))
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
