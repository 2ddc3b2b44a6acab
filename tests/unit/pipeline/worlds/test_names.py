"""The names of a world."""

from __future__ import annotations

from doorkeeper.acl.model import Principal, ResourceType
from doorkeeper_pipeline.worlds.names import ODD_NAMES, names_of, team_of
from doorkeeper_pipeline.worlds.shape import SMALL, Shape


def test_names_are_as_many_as_asked_for_and_different() -> None:
    """Each list has the length of the shape, and no name twice."""
    names = names_of(SMALL)

    assert len(set(names.principals)) == len(names.principals) == SMALL.principals
    for kind, count in (
        (ResourceType.TOPIC, SMALL.topics),
        (ResourceType.GROUP, SMALL.groups),
        (ResourceType.TRANSACTIONAL_ID, SMALL.transactional_ids),
    ):
        assert len(set(names.resources[kind])) == len(names.resources[kind]) == count


def test_odd_names_are_there_and_can_be_left_out() -> None:
    """Each odd name is a group and a principal somewhere, unless they are not wanted."""
    odd = names_of(SMALL)
    plain = names_of(Shape(principals=40, groups=40, odd_names=False))

    assert set(ODD_NAMES) <= set(odd.resources[ResourceType.GROUP])
    assert {f"User:{name}" for name in ODD_NAMES} <= set(odd.principals)
    assert not set(ODD_NAMES) & set(plain.resources[ResourceType.GROUP])


def test_principals_have_a_type_and_some_are_distinguished_names() -> None:
    """Each principal can be split; certificates' names with commas and equals are among them."""
    principals = [Principal.parse(each) for each in names_of(SMALL).principals]

    assert {each.principal_type for each in principals} == {"User", "ServiceAccount"}
    assert any("CN=" in each.name and "\\, " in each.name for each in principals)


def test_topics_begin_with_what_their_team_owns() -> None:
    """The prefix of a team covers its topics, but for the odd ones."""
    shape = Shape(topics=200, odd_names=False)
    names = names_of(shape)

    assert all(
        name.startswith(names.prefixes[team_of(position, shape.topics, shape.teams)])
        for position, name in enumerate(names.resources[ResourceType.TOPIC])
    )
