"""What the differential suite asks about committed offsets and the groups that they create.

``t-one`` and ``t-two`` have two partitions each.
"""

from collections.abc import Iterator
from typing import Any

from doorkeeper_wire.messages import (
    delete_groups,
    describe_groups,
    leave_group,
    list_groups,
    offset_commit,
    offset_delete,
    offset_fetch,
)
from testkit.frame_steps import (
    DELETE,
    DESCRIBE,
    GROUP,
    PREFIXED,
    READ,
    Scenario,
    Step,
    as_users,
    create,
    creation,
)
from testkit.side_by_side import id_of

TOPICS = ("t-one", "t-two")

GRANTS = create(
    creation(
        resource_type=GROUP, resource_name="g-", resource_pattern_type=PREFIXED, operation=READ
    ),
    creation(resource_name="t-one", operation=READ),
    creation(resource_name="absent", operation=READ),
    *(
        creation(
            resource_type=GROUP,
            resource_name="g-",
            resource_pattern_type=PREFIXED,
            operation=operation,
            principal="User:bob",
        )
        for operation in (DELETE, DESCRIBE)
    ),
    creation(resource_name="t-two", operation=READ, principal="User:bob"),
    creation(resource_name="t-one", operation=DESCRIBE, principal="User:bob"),
)
"""alice reads groups and one topic; bob deletes groups, reads the other topic, describes both."""

Commit = tuple[str, int, int, str | None]
"""Topic, partition, offset and text."""


def commit(version: int, group: str, *rows: Commit, epoch: int = -1, **fields: Any) -> Step:
    """Return the OffsetCommit step, each row in a topic of its own."""
    kind = offset_commit
    leader_epoch = fields.pop("leader_epoch", -1)
    request = kind.OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=epoch,
        topics=tuple(
            kind.OffsetCommitRequestTopic(
                **_identity(version, name),
                partitions=(
                    kind.OffsetCommitRequestPartition(
                        partition_index=index,
                        committed_offset=offset,
                        committed_metadata=text,
                        committed_leader_epoch=leader_epoch,
                    ),
                ),
            )
            for name, index, offset, text in rows
        ),
        **fields,
    )
    return Step(None, request, kind.OffsetCommitResponse, version)


def _identity(version: int, name: str) -> dict[str, Any]:
    if version < 10:
        return {"name": name}
    return {"topic_id": id_of(name) if name else bytes(16)}


def fetch(version: int, group: str, *topics: tuple[str, tuple[int, ...]], **fields: Any) -> Step:
    """Return the OffsetFetch step; all topics where none is named."""
    kind = offset_fetch
    if version < 8:
        rows = tuple(
            kind.OffsetFetchRequestTopic(name=name, partition_indexes=indexes)
            for name, indexes in topics
        )
        plain = kind.OffsetFetchRequest(group_id=group, topics=rows or None)
        return Step(None, plain, kind.OffsetFetchResponse, version)
    asked = kind.OffsetFetchRequestGroup(
        group_id=group,
        topics=tuple(
            kind.OffsetFetchRequestTopics(**_identity(version, name), partition_indexes=indexes)
            for name, indexes in topics
        )
        or None,
        **fields,
    )
    return fetch_groups(version, asked)


def fetch_groups(version: int, *groups: offset_fetch.OffsetFetchRequestGroup) -> Step:
    """Return the OffsetFetch step of several groups."""
    request = offset_fetch.OffsetFetchRequest(groups=groups)
    return Step(None, request, offset_fetch.OffsetFetchResponse, version)


def delete_offsets(group: str, *topics: tuple[str, tuple[int, ...]]) -> Step:
    """Return the OffsetDelete step."""
    kind = offset_delete
    request = kind.OffsetDeleteRequest(
        group_id=group,
        topics=tuple(
            kind.OffsetDeleteRequestTopic(
                name=name,
                partitions=tuple(
                    kind.OffsetDeleteRequestPartition(partition_index=index) for index in indexes
                ),
            )
            for name, indexes in topics
        ),
    )
    return Step(None, request, kind.OffsetDeleteResponse, 0)


def drop(version: int, *groups: str) -> Step:
    """Return the DeleteGroups step."""
    request = delete_groups.DeleteGroupsRequest(groups_names=groups)
    return Step(None, request, delete_groups.DeleteGroupsResponse, version)


def listing(version: int = 5) -> Step:
    """Return the ListGroups step."""
    return Step(None, list_groups.ListGroupsRequest(), list_groups.ListGroupsResponse, version)


def description(version: int, *groups: str) -> Step:
    """Return the DescribeGroups step."""
    request = describe_groups.DescribeGroupsRequest(groups=groups)
    return Step(None, request, describe_groups.DescribeGroupsResponse, version)


ALL = (("t-one", (0, 1, 2, -1)), ("t-two", (1, 0)), ("absent", (0,)), ("", (0,)))


def commit_scenarios() -> Iterator[Scenario]:
    """OffsetCommit of every version: good and bad places, generations, members, texts."""
    for version in range(2, 11):
        steps = [
            commit(version, "g-none"),
            commit(version, "g-a", ("t-one", 0, 5, "text"), ("t-two", 1, 6, None)),
            commit(version, "g-a", ("t-one", 1, 7, ""), ("absent", 0, 1, ""), ("", 0, 1, "")),
            commit(version, "g-a", ("t-one", 2, 7, ""), ("t-one", -1, 1, ""), ("t-one", 0, 9, "")),
            commit(version, "g-a", ("t-one", 0, 1, "x"), ("t-one", 0, 2, "y"), ("t-two", 0, 1, "")),
            commit(version, "g-neg", ("t-one", 0, -1, ""), ("t-one", 1, -7, "")),
            commit(version, "g-long", ("t-one", 0, 1, "x" * 4097)),
            commit(version, "g-long", ("t-one", 0, 1, "x" * 4096), ("t-one", 1, 1, "é" * 4096)),
            commit(version, "g-long", ("t-one", 1, 1, "😀" * 2049), ("t-one", 0, 1, "😀" * 2048)),
            commit(version, "g-new", ("t-one", 0, 1, ""), epoch=0),
            commit(version, "g-new", ("t-one", 0, 1, ""), epoch=3, member_id="m"),
            commit(version, "g-a", ("t-one", 0, 1, ""), epoch=3),
            commit(version, "g-a", ("t-one", 0, 1, ""), epoch=3, member_id="m"),
            commit(version, "g-a", ("t-one", 0, 11, ""), member_id="m"),
            commit(version, "g-m", ("t-one", 0, 12, ""), member_id="m"),
            commit(version, "g-a", ("t-one", 0, 1, ""), epoch=-2),
            commit(version, "", ("t-one", 0, 1, "")),
            commit(version, "other", ("t-one", 0, 1, "")),
        ]
        if version <= 4:
            steps.append(commit(version, "g-time", ("t-one", 0, 1, ""), retention_time_ms=60_000))
        if version >= 6:
            steps.append(commit(version, "g-a", ("t-one", 1, 3, "e"), leader_epoch=0))
            steps.append(commit(version, "g-a", ("t-one", 1, 3, "e"), leader_epoch=9))
        if version >= 7:
            step = commit(version, "g-a", ("t-one", 0, 1, ""), group_instance_id="i", epoch=1)
            steps += [step, commit(version, "g-a", ("t-one", 0, 1, ""), group_instance_id="i")]
        seen = (listing(), description(6, "g-a", "g-new", "g-none"), fetch(9, "g-a"))
        yield Scenario(
            f"OffsetCommit {version}",
            (GRANTS, *as_users(*steps), *seen, fetch(9, "g-neg"), fetch(9, "g-long")),
            TOPICS,
            groups=True,
        )


def fetch_scenarios() -> Iterator[Scenario]:
    """OffsetFetch of every version: named and all topics, refusals, members, several groups."""
    for version in range(1, 11):
        made = (
            commit(8, "g-a", ("t-one", 0, 5, "text"), ("t-two", 1, 6, None), leader_epoch=0),
            commit(8, "g-b", ("t-two", 0, 7, "b")),
            commit(8, "other", ("t-one", 0, 8, "o")),
        )
        groups = ("g-a", "g-b", "other", "g-none", "")
        steps = [fetch(version, group, *ALL) for group in groups]
        steps.append(fetch(version, "g-a", ("t-one", (0, 0)), ("t-one", (0,))))
        if version >= 2:
            steps += [fetch(version, group) for group in groups]
        if version >= 8:
            kind = offset_fetch
            asked = [kind.OffsetFetchRequestGroup(group_id=each, topics=None) for each in groups]
            steps += [fetch_groups(version), fetch_groups(version, *asked, asked[0])]
        if version >= 9:
            steps += [
                fetch(version, "g-a", *ALL, member_id=member, member_epoch=epoch)
                for member, epoch in (("m", -1), ("m", 4), (None, 4), ("", -1))
            ]
        yield Scenario(
            f"OffsetFetch {version}", (GRANTS, *made, *as_users(*steps)), TOPICS, groups=True
        )


def deletion_scenarios() -> Iterator[Scenario]:
    """OffsetDelete and DeleteGroups: refusals, what is absent, and what remains."""
    made = (
        commit(8, "g-a", ("t-one", 0, 5, "text"), ("t-two", 1, 6, None)),
        commit(8, "other", ("t-one", 0, 8, "o")),
    )
    steps = [
        delete_offsets("g-a"),
        delete_offsets("g-a", ("t-one", (0, 1, 2)), ("t-two", (1, 7)), ("absent", (0,))),
        delete_offsets("g-a", ("t-one", (0, 0))),
        delete_offsets("g-none", ("t-one", (0,))),
        delete_offsets("", ("t-one", (0,))),
        delete_offsets("other", ("t-one", (0,)), ("", (0,))),
    ]
    seen = (fetch(8, "g-a"), fetch(8, "other"), listing(), description(6, "g-a", "other"))
    yield Scenario(
        "OffsetDelete",
        (GRANTS, *made, *as_users(*steps[:1]), *as_users(*steps[1:]), *seen),
        TOPICS,
        groups=True,
    )
    for version in range(3):
        removals = (
            drop(version),
            drop(version, "other", "g-a", "g-none", "", "g-a"),
            drop(version, "g-a"),
        )
        yield Scenario(
            f"DeleteGroups {version}",
            (GRANTS, *made, *as_users(*removals), *seen, *made, *seen),
            TOPICS,
            groups=True,
        )


def leave_scenarios() -> Iterator[Scenario]:
    """LeaveGroup: members that are not there, of groups that are and are not; refusals."""
    kind = leave_group

    def leave(version: int, group: str, *members: tuple[str, str | None]) -> Step:
        fields: dict[str, Any] = {"member_id": members[0][0]}
        if version >= 3:
            rows = (kind.MemberIdentity(member_id=m, group_instance_id=i) for m, i in members)
            fields = {"members": tuple(rows)}
        request = kind.LeaveGroupRequest(group_id=group, **fields)
        return Step(None, request, kind.LeaveGroupResponse, version)

    made = commit(8, "g-a", ("t-one", 0, 5, "text"))
    for version in range(6):
        steps = [leave(version, each, ("m", None)) for each in ("g-a", "g-none", "", "other")]
        steps.append(leave(version, "g-a", ("", None)))
        if version >= 3:
            several = (("m", None), ("", "i"), ("m", "i"), ("m", None))
            steps += [leave(version, "g-a", *several), leave(version, "g-none", *several)]
            none = kind.LeaveGroupRequest(group_id="g-a")
            steps.append(Step(None, none, kind.LeaveGroupResponse, version))
        yield Scenario(
            f"LeaveGroup {version}", (GRANTS, made, *as_users(*steps)), TOPICS, groups=True
        )


OFFSET_SCENARIOS: tuple[Scenario, ...] = (
    *commit_scenarios(),
    *fetch_scenarios(),
    *deletion_scenarios(),
    *leave_scenarios(),
)
