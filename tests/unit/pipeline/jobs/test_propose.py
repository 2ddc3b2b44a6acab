"""Another set of ACLs, and what it would turn."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import polars as pl
import pytest

from doorkeeper.acls.decision import Policy, Question
from doorkeeper.acls.model import AclBinding, AclOperation, ResourceType
from doorkeeper.acls.words import region_words
from doorkeeper_pipeline.cli.propose import KINDS
from doorkeeper_pipeline.errors import PipelineError
from doorkeeper_pipeline.evaluation.evidence import DEFAULT_THRESHOLDS, NO_DOUBT
from doorkeeper_pipeline.jobs.propose import Proposal, ProposalOptions, propose
from doorkeeper_pipeline.proposals import summary_of
from testkit.acl import PREFIXED, READ, WRITE, allow, deny, group, topic
from testkit.histories import Asking, asked_of

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP


def reads(user: str, name: str) -> Asking:
    return Asking(question=Question(f"User:{user}", "10.0.0.1", READ, TOPIC, name))


HISTORY = [
    reads("alice", "orders"),
    reads("bob", "bills"),
    reads("bob", "secret"),
    # Refused, and the sign that writes are logged.
    Asking(question=Question("User:bob", "10.0.0.1", WRITE, TOPIC, "secret"), api="Produce"),
]
EVERYBODY = allow("*", READ, topic("*"))
SECRET = deny("bob", READ, topic("secret"))
OWN = allow("alice", READ, topic("orders"))
IDLE = allow("carol", WRITE, topic("orders"))
BINDINGS = [EVERYBODY, SECRET, OWN, IDLE]
BOBS = allow("bob", READ, topic("bills"))


def made(tmp_path: Path, options: ProposalOptions, policy: Policy | None = None) -> Proposal:
    return propose(asked_of(tmp_path, HISTORY, BINDINGS, policy=policy), options)


def kinds(*names: str) -> ProposalOptions:
    return ProposalOptions(kinds=names)


def test_removed_acls_of_super_users_are_named(tmp_path: Path) -> None:
    """Whoever takes the status away later must know that the ACLs are gone."""
    policy = Policy(super_users=frozenset({"User:carol", "User:root"}))
    proposal = made(tmp_path, kinds("unused"), policy)

    assert IDLE in proposal.removed
    assert [line for line in summary_of(proposal) if "super.users" in line] == [
        "removes ACLs of User:carol, unneeded only while it is in super.users"
    ]


def test_least_privilege_and_unused(tmp_path: Path) -> None:
    """By default what is used stays, literally, a DENY stays, and all else goes; nobody breaks."""
    found = made(tmp_path, ProposalOptions())

    assert found.bindings == tuple(sorted([BOBS, OWN, SECRET]))
    assert found.added == (BOBS,)
    assert found.removed == tuple(sorted([EVERYBODY, IDLE]))
    assert len(found.backtest) == 0
    assert sorted(found.least_privilege["principal"].to_list()) == [
        "User:alice",
        "User:bob",
    ]


@pytest.mark.parametrize(
    ("options", "bindings"),
    [
        (kinds("least-privilege"), [BOBS, OWN, SECRET, IDLE]),
        (kinds("unused"), [EVERYBODY, SECRET]),
        (kinds("unused", "overbroad"), [BOBS, OWN, SECRET]),
        (ProposalOptions(principals=("User:bob",)), [EVERYBODY, SECRET, OWN, IDLE, BOBS]),
    ],
)
def test_methods_and_principals(
    tmp_path: Path, options: ProposalOptions, bindings: list[AclBinding]
) -> None:
    found = made(tmp_path, options)

    assert found.bindings == tuple(sorted(bindings))
    assert len(found.backtest) == 0


def test_prefixes_on_request(tmp_path: Path) -> None:
    history = [reads("alice", f"orders.{letter}") for letter in "abc"]
    history.append(Asking(question=history[0].question._replace(name="orders.z", operation=WRITE)))
    asked = asked_of(tmp_path, history, [EVERYBODY])

    literal = propose(asked, ProposalOptions())
    prefixed = propose(asked, ProposalOptions(prefixes=True))

    assert len(literal.bindings) == 3
    assert prefixed.bindings == (allow("alice", READ, topic("orders.", PREFIXED)),)
    [row] = prefixed.least_privilege.to_dicts()
    assert (row["kind"], row["covers"]) == ("PREFIX", ["orders.z"])


def test_proposal_is_not_wider_than_the_acls_in_force(tmp_path: Path) -> None:
    four = [allow("alice", READ, topic(f"pay.{each}"), "10.0.0.1") for each in "abcd"]
    history = [reads("alice", each.pattern.name) for each in four]
    asked = asked_of(tmp_path, history, four)

    assert set(propose(asked, ProposalOptions()).bindings) <= set(four)
    with pytest.raises(PipelineError) as refused:
        propose(asked, ProposalOptions(prefixes=True))
    assert str(refused.value) == (
        "the proposal would newly allow 1 region of requests; to propose it anyway, add"
        f" --allow-wider\n  {ALL_OF_PAY}, from 10.0.0.1"
    )
    permitted = propose(asked, ProposalOptions(prefixes=True, wider=True))
    assert [region_words(each) for each in permitted.wider] == [f"{ALL_OF_PAY}, from 10.0.0.1"]
    assert f"WIDER: newly allows {ALL_OF_PAY}, from 10.0.0.1" in summary_of(permitted)


ALL_OF_PAY = (
    "User:alice  READ, DESCRIBE  topic names that begin with 'pay.' except pay.a, pay.b, pay.c,"
    " pay.d"
)

DESCRIBES = "User:alice  DESCRIBE  topic names that begin with 'pay.s'"
OTHER_HOSTS = f"{ALL_OF_PAY}, from all hosts except 10.0.0.9"


@pytest.mark.parametrize(
    ("present", "regions"),
    [
        ((), [ALL_OF_PAY]),
        ((deny("alice", READ, topic("pay.s", PREFIXED)),), [f"{ALL_OF_PAY}, pay.s*", DESCRIBES]),
        ((deny("alice", AclOperation.ALL, topic("pay.", PREFIXED), "10.0.0.9"),), [OTHER_HOSTS]),
        ((allow("*", READ, topic("pay", PREFIXED)),), []),
        ((allow("*", AclOperation.ALL, topic("*")),), []),
    ],
)
def test_newly_allowed_requests_are_regions(
    tmp_path: Path, present: tuple[AclBinding, ...], regions: list[str]
) -> None:
    four = [allow("alice", READ, topic(f"pay.{each}")) for each in "abcd"]
    history = [reads("alice", each.pattern.name) for each in four]
    asked = asked_of(tmp_path, history, [*four, *present])

    found = propose(asked, ProposalOptions(kinds=("least-privilege",), prefixes=True, wider=True))

    assert [region_words(each) for each in found.wider] == regions


def test_grant_without_evidence_is_kept(tmp_path: Path) -> None:
    asked = replace(
        asked_of(tmp_path, [reads("alice", "orders")], [EVERYBODY, OWN, IDLE]),
        thresholds=DEFAULT_THRESHOLDS,
    )
    for kind in KINDS:
        assert propose(asked, ProposalOptions(kinds=(kind,))).removed == ()


def test_nothing_stands_beside_a_grant_without_evidence(tmp_path: Path) -> None:
    """Literals beside a wide grant that stays would be more ACLs, and allow nothing more."""
    wide = allow("alice", AclOperation.ALL, topic("ord", PREFIXED))
    present = [wide, OWN, allow("bob", READ, topic("bills"))]
    history = [reads("alice", "orders"), reads("alice", "ordinary"), reads("bob", "bills")]
    asked = replace(asked_of(tmp_path, history, present), thresholds=DEFAULT_THRESHOLDS)

    for prefixes in (False, True):
        found = propose(asked, ProposalOptions(kinds=("least-privilege",), prefixes=prefixes))

        assert (found.added, found.removed) == ((), ())


def joins(user: str, name: str, day: int = 0) -> Asking:
    return Asking(question=Question(f"User:{user}", "10.0.0.1", READ, GROUP, name), day=day)


GROUPS = allow("alice", READ, group("*"))
STREAMS = allow("bob", AclOperation.ALL, group("app-", PREFIXED))
NAMES = ["".join(each) for each in product("aeiou", "bdfg", "aeiou")]
RANDOM = [f"{number * 2654435761 % 2**32:08x}-{number:04x}" for number in range(1, 41)]


@pytest.mark.parametrize("kind", ["least-privilege", "overbroad"])
@pytest.mark.parametrize("prefixes", [False, True])
def test_pattern_for_generated_names_is_kept(tmp_path: Path, kind: str, *, prefixes: bool) -> None:
    history = [
        *(joins("alice", name, day) for day, name in enumerate(RANDOM)),
        *(joins("bob", f"app-{name}") for name in ("in", "out")),
        *(joins("carol", f"job-{name}") for name in RANDOM[:3]),
        joins("dave", "app-x"),
        joins("dave", "job-other"),
        # Refused, and the signs that all kinds of requests are logged.
        Asking(question=Question("User:erin", "", WRITE, TOPIC, "t"), api="Produce"),
        Asking(
            question=Question("User:erin", "", AclOperation.DESCRIBE, TOPIC, "t"), api="Metadata"
        ),
    ]
    jobs = allow("*", READ, group("job-", PREFIXED))
    everything = [GROUPS, STREAMS, jobs, allow("dave", READ, group("app-x"))]
    asked = asked_of(tmp_path, history, everything)

    found = propose(asked, ProposalOptions(kinds=(kind,), prefixes=prefixes, wider=prefixes))

    names = {each.pattern.name for each in found.bindings}
    assert {GROUPS, jobs} <= set(found.bindings)
    assert STREAMS in found.removed
    assert not names & {*RANDOM, *(f"job-{name}" for name in RANDOM)}
    assert len(found.backtest) == 0
    assert [each for each, _ in found.patterns] == sorted([GROUPS, jobs])
    lines = [line for line in summary_of(found) if line.startswith("keeps the pattern: ")]
    assert ["(40 names)" in line for line in lines] == [True, False]


def test_generated_names_are_one_row(tmp_path: Path) -> None:
    many = [f"{first}.{second}" for first in NAMES for second in NAMES]
    asked = asked_of(tmp_path, [joins("alice", "x")], [GROUPS])
    table = pl.read_parquet(asked.decisions[0])
    table.drop("resource_name").join(
        pl.DataFrame({"resource_name": many}), how="cross"
    ).write_parquet(asked.decisions[0])

    found = propose(asked, ProposalOptions())

    (row,) = found.least_privilege.to_dicts()
    assert (row["kind"], row["resource_count"], row["support"]) == ("PATTERN", len(many), len(many))
    assert row["names"] == sorted(many)[:100]
    assert (found.bindings, found.added) == ((GROUPS,), ())


def test_resources_are_not_opened_to_everyone(tmp_path: Path) -> None:
    found = made(tmp_path, ProposalOptions(), Policy(allow_everyone=True))

    assert EVERYBODY in found.bindings
    assert len(found.backtest) == 0


def test_resources_are_not_closed_to_others(tmp_path: Path) -> None:
    history = [*HISTORY, reads("alice", "bills")]
    asked = asked_of(tmp_path, history, [OWN, IDLE], policy=Policy(allow_everyone=True))

    for_one = propose(asked, ProposalOptions(principals=("User:alice",)))
    for_all = propose(asked, ProposalOptions())

    assert for_one.bindings == tuple(sorted([OWN, IDLE]))
    assert BOBS in for_all.added
    assert len(for_one.backtest) == len(for_all.backtest) == 0


def test_prefix_over_closed_names_is_wider(tmp_path: Path) -> None:
    four = [allow("alice", READ, topic(f"pay.{each}")) for each in "abcd"]
    history = [reads("alice", each.pattern.name) for each in four]
    shut = allow("alice", WRITE, topic("pay.secret"))
    policy = Policy(allow_everyone=True)

    asked = asked_of(tmp_path, history, [*four, shut], policy=policy)
    with pytest.raises(PipelineError, match=r"wider\n  User:alice  READ  topic pay.secret$"):
        propose(asked, ProposalOptions(prefixes=True))
    (tmp_path / "open").mkdir()
    opened = asked_of(
        tmp_path / "open", history, [shut._replace(pattern=topic("x"))], policy=policy
    )
    assert not propose(opened, ProposalOptions(prefixes=True)).wider


def test_lost_access_is_reported(tmp_path: Path) -> None:
    asked = asked_of(tmp_path, [reads("alice", "*")], [EVERYBODY])

    found = propose(asked, ProposalOptions())

    assert found.backtest["turn"].to_list() == ["ALLOW_TO_DENY"]


def test_invalid_options_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="'alice': expected: type:name"):
        made(tmp_path, ProposalOptions(principals=("alice",)))


@pytest.mark.parametrize("kind", ["unused", "overbroad", "least-privilege"])
def test_doubtful_principals_are_unchanged(tmp_path: Path, kind: str) -> None:
    asked = asked_of(tmp_path, HISTORY, BINDINGS)

    proof = NO_DOUBT._replace(doubtful=frozenset({"User:bob", "User:carol"}))
    found = propose(replace(asked, proof=proof), kinds(kind))

    assert {EVERYBODY, SECRET, IDLE} <= set(found.bindings)
    assert not [each for each in found.added if each.entry.principal == "User:bob"]
    assert found.doubtful == ("User:bob", "User:carol")
