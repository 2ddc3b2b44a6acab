"""What is said of many bindings by columns is what is said of each."""

import datetime as dt

import polars as pl
from hypothesis import example, given, settings
from hypothesis import strategies as st

from doorkeeper.acls.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acls.privileges import Need, grant_of, history_names, least
from doorkeeper_pipeline.bindings import id_of, text_of
from doorkeeper_pipeline.evaluation.literals import (
    bindings_of,
    commands_of,
    frame_of,
    ids_of,
    is_grantable,
    literal_grants,
    text,
)
from doorkeeper_pipeline.evaluation.needs import NEEDS
from testkit.acl_commands import command_of

AT = dt.datetime(2026, 11, 22, tzinfo=dt.UTC)
TIMES = [AT + dt.timedelta(hours=hours) for hours in range(3)]

texts = st.sampled_from(
    (
        "",
        "*",
        "a",
        "orders.eu",
        "kafka-cluster",
        "a b",
        " a",
        "-x",
        "it's",
        "two\nlines",
        "中",
        "\0",
    )
)
principals = st.one_of(
    st.sampled_from(("User:*", "User:a", "a", "User:", "User:it's", "-a:b", "User:中 文")), texts
)
types = st.sampled_from([each for each in ResourceType if each > ResourceType.ANY])
operations = st.sampled_from([each for each in AclOperation if each > AclOperation.ANY])
bindings = st.builds(
    AclBinding,
    st.builds(
        ResourcePattern, types, texts, st.sampled_from((PatternType.LITERAL, PatternType.PREFIXED))
    ),
    st.builds(
        AccessControlEntry,
        principals,
        st.sampled_from(("*", "10.0.0.1", "", "-h", "10.0.0.0/8")),
        operations,
        st.sampled_from((AclPermissionType.ALLOW, AclPermissionType.DENY)),
    ),
)
needs = st.builds(
    Need,
    principals,
    st.sampled_from(("*", "10.0.0.1")),
    types,
    texts,
    operations,
    st.integers(1, 9),
    st.sampled_from(TIMES[:2]),
    st.sampled_from(TIMES[1:]),
)


@settings(max_examples=50, deadline=None)
@given(those=st.lists(bindings, max_size=20, unique=True))
def test_vectorized_bindings_match_single_bindings(those: list[AclBinding]) -> None:
    frame = frame_of(those)

    assert bindings_of(frame) == those
    assert ids_of(frame).to_list() == list(map(id_of, those))
    assert frame.select(text()).to_series().to_list() == list(map(text_of, those))
    assert commands_of(frame).to_list() == list(map(command_of, those))
    removing = [command_of(each, remove=True) for each in those]
    assert commands_of(frame, remove=True).to_list() == removing


@settings(max_examples=50, deadline=None)
@given(those=st.lists(needs, max_size=20))
def test_grantable_accesses(those: list[Need]) -> None:
    wanted = [
        grant_of(each.principal, each.resource_type, each.name, each.operation, each.host)
        is not None
        for each in those
    ]

    assert is_grantable(frame_of_needs(those)).to_list() == wanted


@settings(max_examples=50, deadline=None)
@example(
    those=[
        Need("User:a", "*", ResourceType.TOPIC, "a", operation, 1, AT, AT)
        for operation in (AclOperation.DESCRIBE, AclOperation.READ, AclOperation.ALL)
    ]
)
@given(those=st.lists(needs, max_size=30, unique_by=lambda each: each[:5]))
def test_literal_grants_are_minimal(those: list[Need]) -> None:
    """They are those that ``least`` finds one by one, with the same sums and times."""
    wanted = [
        (each.binding, each.support, each.first, each.last)
        for each in least(those, history_names({}, (), ()))
    ]

    found = literal_grants(frame_of_needs(those))

    sums = found.select("count", "first_ts", "last_ts").iter_rows()
    pairs = zip(bindings_of(found), sums, strict=True)
    assert [(binding, *row) for binding, row in pairs] == wanted


def frame_of_needs(those: list[Need]) -> pl.DataFrame:
    """Return needs as a frame, as ``sum_needs`` does."""
    rows = [
        (each.principal, each.host, each.resource_type.name, each.name, each.operation.name, *rest)
        for each in those
        for rest in [each[5:]]
    ]
    schema = pl.Schema(NEEDS)
    return pl.DataFrame(rows, schema, orient="row")
