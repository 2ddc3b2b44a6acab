"""Partitions of questions: classes of names and of clients whose members have one decision each.

ACLs mention some names and hosts. Between two patterns all names are covered by the same patterns,
and between two hosts all clients match the same ones. So one name and one client stand for a class,
and the engine decides about these (``decision``). ``host_sets`` makes the classes of clients, and
this module those of names. Classes are nested, as patterns and hosts are:

    a*                  names that begin with "a", but in none of the classes within; as "ax"
      ab*               as "abx"
        abc             this name
      ad                this name

``collapse`` joins classes with one value to unions: a class with all that is within it, except
those within it that have another value.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct

from doorkeeper.acls.model import WILDCARD, PatternType
from doorkeeper.acls.regions import ALL_NAMES, Extent, single

V = TypeVar("V")

_SUFFIXES = "xyzabcdefghijklmnopqrstuvw0123456789-_.ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""The characters of names of topics; the first that no pattern has is the end of an example."""


# The literal asterisk covers neither longer names that begin with one nor more than these.
_STARS = Extent(WILDCARD)
_STAR = single(WILDCARD)


class NameClass(Struct, frozen=True):
    """Names with one decision: those of an extent that are in no class within it.

    ``parent`` is the index of the class that it lies within, -1 for an outermost one.
    """

    extent: Extent
    example: str
    parent: int


class ClassUnion(Struct, frozen=True):
    """A class with those within it, except some; indexes in the list of classes."""

    head: int
    exceptions: tuple[int, ...]


def extent_of(name: str, pattern_type: PatternType) -> Extent:
    """Return the smallest extent that has all names of a pattern; all for the literal ``*``."""
    if pattern_type is PatternType.PREFIXED:
        return Extent(name)
    return ALL_NAMES if name == WILDCARD else single(name)


def outermost(extents: Iterable[Extent]) -> list[Extent]:
    """Return the extents that are within no other one, sorted."""
    outer: list[Extent] = []
    for extent in sorted(set(extents)):
        if not outer or not outer[-1].contains(extent):
            outer.append(extent)
    return outer


class Extents:
    """Extents, found by those that they lie within or around."""

    def __init__(self, extents: Iterable[Extent]) -> None:
        """Sort them."""
        self._sorted = sorted(set(extents))
        self._lengths = sorted(
            {len(extent.text) for extent in self._sorted if not extent.is_single}
        )

    def __bool__(self) -> bool:
        return bool(self._sorted)

    def within(self, outer: Extent) -> Iterator[Extent]:
        """Yield those within an extent, sorted; itself too. O(their number)."""
        for at in range(bisect_left(self._sorted, outer), len(self._sorted)):
            extent = self._sorted[at]
            if not outer.contains(extent):
                return
            yield extent

    def has_around(self, inner: Extent) -> bool:
        """Say whether an extent is within one of these. O(lengths of prefixes)."""
        if inner.is_single and self._has(inner):
            return True
        text = inner.text
        return any(self._has(Extent(text[:size])) for size in self._lengths if size <= len(text))

    def _has(self, extent: Extent) -> bool:
        at = bisect_left(self._sorted, extent)
        return at < len(self._sorted) and self._sorted[at] == extent


def name_classes(scopes: Iterable[Extent], extents: Iterable[Extent]) -> list[NameClass]:
    """Return the classes of the names of some scopes, each before those within it.

    The scopes have no name in common, and the extents lie within them.
    """
    ordered = _sorted_extents(scopes, extents)
    classes: list[NameClass] = []
    open_: list[int] = []
    for index, (extent, example) in enumerate(zip(ordered, _examples(ordered), strict=True)):
        # In sorted order an extent lies within the last open one, or that one has ended.
        while open_ and not ordered[open_[-1]].contains(extent):
            open_.pop()
        classes.append(NameClass(extent, example, open_[-1] if open_ else -1))
        open_.append(index)
    return classes


def name_examples(scope: Extent, extents: Iterable[Extent]) -> Iterator[str]:
    """Yield a name of each class, in the same order: some answers are known after a few."""
    return _examples(_sorted_extents((scope,), extents))


def _sorted_extents(scopes: Iterable[Extent], extents: Iterable[Extent]) -> list[Extent]:
    all_extents = {*scopes, *extents}
    # The literal * covers names that begin with a star, and go on, by other rules: see
    # ``acl.names.wildcard_covers``.
    if ALL_NAMES in all_extents:
        all_extents.add(_STARS)
    if _STARS in all_extents:
        all_extents.add(_STAR)
    # No resource has an empty name.
    all_extents.discard(single(""))
    return sorted(all_extents)


def _examples(ordered: Sequence[Extent]) -> Iterator[str]:
    texts = [extent.text for extent in ordered]
    for text, is_single, _ in ordered:
        yield text if is_single else _fresh_name(text, texts)


def collapse(parents: Sequence[int], values: Sequence[V | None]) -> list[tuple[ClassUnion, V]]:
    """Return the largest unions with one value, in the order of their classes.

    ``parents`` has for each class the index of the one around it. A value of None is that of a
    class without members, which belongs to any union.
    """
    if max(parents, default=-1) < 0:
        # Nothing lies within anything, as single names do not.
        return [
            (ClassUnion(index, ()), value)
            for index, value in enumerate(values)
            if value is not None
        ]
    heads: list[int] = []
    union_values: list[V | None] = []
    exceptions: dict[int, list[int]] = {}
    for index, (outer, value) in enumerate(zip(parents, values, strict=True)):
        # A class without members may be in any union: the one around keeps it whole.
        if outer >= 0 and (value is None or value == union_values[outer]):
            heads.append(heads[outer])
            union_values.append(union_values[outer])
            continue
        heads.append(index)
        union_values.append(value)
        exceptions[index] = []
        if outer >= 0:
            exceptions[heads[outer]].append(index)
    return [
        (ClassUnion(head, tuple(within)), value)
        for head, within in exceptions.items()
        if (value := union_values[head]) is not None
    ]


def fresh_name(stem: str, is_taken: Callable[[str], bool]) -> str:
    """Return the stem with one more character, as of names of topics where one is not taken."""
    return next(name for suffix in _suffixes() if not is_taken(name := stem + suffix))


def _fresh_name(prefix: str, texts: Sequence[str]) -> str:
    """Return a name behind a prefix that is, and begins with, no other of these sorted texts."""

    def is_taken(name: str) -> bool:
        at = bisect_left(texts, name)
        return at < len(texts) and texts[at].startswith(name)

    # Nearly always.
    name = prefix + _SUFFIXES[0]
    return fresh_name(prefix, is_taken) if is_taken(name) else name


def _suffixes() -> Iterator[str]:
    yield from _SUFFIXES
    # Only where a pattern begins with each of them: no topic can have such a name.
    yield from map(chr, range(0x4E00, 0xD800))
    # Behind the surrogates, which no text has.
    yield from map(chr, range(0xE000, 0x110000))
