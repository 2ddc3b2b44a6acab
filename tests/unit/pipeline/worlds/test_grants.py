"""Sets of ACLs for a world."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doorkeeper.acl.formats.choosing import WRITTEN, Format, read, write
from doorkeeper.acl.model import WILDCARD_PRINCIPAL, AclPermissionType, PatternType
from doorkeeper_pipeline.worlds.grants import grants_of, proposal_of, range_of
from doorkeeper_pipeline.worlds.names import names_of
from doorkeeper_pipeline.worlds.shape import SMALL, Shape

GRANTS = grants_of(SMALL, names_of(SMALL))


def test_there_are_as_many_as_asked_for_sorted() -> None:
    """The set has the size of the shape, in the order of the fields, none twice."""
    assert len(GRANTS) == SMALL.acls
    assert list(GRANTS) == sorted(set(GRANTS))


def test_a_seed_gives_one_set() -> None:
    """The same seed gives the same ACLs, another seed others."""
    other = replace(SMALL, seed=2)

    assert grants_of(SMALL, names_of(SMALL)) == GRANTS
    assert grants_of(other, names_of(other)) != GRANTS


def test_everything_that_matters_is_there() -> None:
    """DENYs, prefixes, wildcards, hosts, grants for everybody."""
    assert any(each.entry.permission_type is AclPermissionType.DENY for each in GRANTS)
    assert any(each.pattern.pattern_type is PatternType.PREFIXED for each in GRANTS)
    assert any(each.pattern.name == "*" for each in GRANTS)
    assert any(each.entry.host != "*" for each in GRANTS)
    everyone = [each for each in GRANTS if each.entry.principal == WILDCARD_PRINCIPAL]
    assert len(everyone) == SMALL.everyone_grants


def test_nobody_may_do_everything() -> None:
    """No grant for everybody covers every name: nothing would be refused in such a world."""
    assert not [
        each
        for each in GRANTS
        if each.entry.principal == WILDCARD_PRINCIPAL and each.pattern.name == "*"
    ]


@pytest.mark.parametrize("how", WRITTEN, ids=lambda each: each.value)
def test_each_format_holds_a_world(how: Format) -> None:
    """What is written, odd names included, reads back as the same set."""
    assert sorted(read(write(GRANTS, how), how)) == list(GRANTS)


def test_a_small_world_gives_what_it_has() -> None:
    """Where fewer different grants exist than are asked for, the world is as full as it gets."""
    shape = Shape(principals=1, topics=1, groups=1, transactional_ids=1, acls=5_000)

    assert 0 < len(grants_of(shape, names_of(shape))) < 5_000


def test_a_proposal_takes_away_and_adds() -> None:
    """About 2 % are gone and a few are new; the same every time."""
    shape = replace(SMALL, principals=500, acls=4_000)
    old = grants_of(shape, names_of(shape))

    new = proposal_of(old)

    assert new == proposal_of(old)
    assert 40 < len(set(old) - set(new)) < 140
    assert 0 < len(set(new) - set(old)) < 40


def test_the_names_of_a_team_are_at_least_one() -> None:
    """Ranges lie inside the list, whatever the numbers."""
    for count in (1, 2, 7, 100):
        for team in range(9):
            begin, size = range_of(team, count, 9)
            assert 0 <= begin < count
            assert size >= 1
            assert begin + size <= count
